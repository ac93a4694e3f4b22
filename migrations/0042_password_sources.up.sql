-- Wrong passwords by address and network, and the networks from which an account was signed in to lately.

-- A row of an address's own stays as it is, and counts for all strangers together. A row of one network or device of the
-- address names the address in `of_address`. What is there already counts on.
ALTER TABLE password_attempts
    -- The digest of the address whose network or device the row counts for; NULL: the row is the address's own, or a second
    -- factor's.
    ADD COLUMN of_address bytea CHECK (length(of_address) = 32),
    -- The epoch of the sessions of the account that was signed in to from the network: with these sessions it is known no more.
    ADD COLUMN known_epoch bigint,
    ADD COLUMN known_until timestamptz,
    ADD CONSTRAINT password_attempts_known_check CHECK (
        (known_epoch IS NULL) = (known_until IS NULL) AND (known_until IS NULL OR of_address IS NOT NULL)
    ),
    -- 0: a network that is known and has no wrong password.
    DROP CONSTRAINT password_attempts_failures_check,
    ADD CONSTRAINT password_attempts_failures_check CHECK (
        failures BETWEEN 0 AND 100 AND (failures > 0 OR known_until IS NOT NULL)
    );

CREATE INDEX password_attempts_of_address ON password_attempts (tenant_id, of_address) WHERE of_address IS NOT NULL;

-- A row ends when it neither counts nor is known.
DROP INDEX password_attempts_by_end;
CREATE INDEX password_attempts_by_end ON password_attempts (greatest(forgotten_at, known_until));
