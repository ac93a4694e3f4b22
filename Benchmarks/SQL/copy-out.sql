-- Copies the tables of accounts to files on the database server, in :folder.

\set file :folder '/users.copy'
COPY users TO :'file';
\set file :folder '/identifiers.copy'
COPY identifiers TO :'file';
\set file :folder '/password_credentials.copy'
COPY password_credentials TO :'file';
\set file :folder '/linked_providers.copy'
COPY linked_providers TO :'file';
\set file :folder '/sign_in_methods.copy'
COPY sign_in_methods TO :'file';
\set file :folder '/account_events.copy'
COPY (SELECT * FROM account_events) TO :'file';
