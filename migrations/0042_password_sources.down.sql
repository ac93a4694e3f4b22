DELETE FROM password_attempts WHERE of_address IS NOT NULL;

DROP INDEX password_attempts_by_end;
CREATE INDEX password_attempts_by_end ON password_attempts (forgotten_at);
DROP INDEX password_attempts_of_address;

ALTER TABLE password_attempts
    DROP CONSTRAINT password_attempts_failures_check,
    ADD CONSTRAINT password_attempts_failures_check CHECK (failures BETWEEN 1 AND 100),
    DROP CONSTRAINT password_attempts_known_check,
    DROP COLUMN known_until,
    DROP COLUMN known_epoch,
    DROP COLUMN of_address;
