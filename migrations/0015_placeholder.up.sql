-- Holds the number of a migration that is made elsewhere; never to be released.
SELECT 1;
