DROP INDEX outbox_done;
DROP INDEX outbox_by_expiry;
DROP INDEX one_time_codes_by_expiry;
DROP TABLE password_attempts;
