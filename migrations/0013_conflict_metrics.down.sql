DROP INDEX conflicts_uncounted;

ALTER TABLE conflicts
    DROP COLUMN account_method,
    DROP COLUMN is_counted;
