-- Second factors, what waits for one, and the mail that takes one off again.

-- What somebody has to show after a first factor. A number, or a secret that an app shares: never both.
CREATE TABLE second_factors (
    tenant_id     text        COLLATE "C" NOT NULL DEFAULT '',
    user_id       text        COLLATE "C" NOT NULL,
    enrollment_id text        COLLATE "C" NOT NULL CHECK (length(enrollment_id) BETWEEN 1 AND 128),
    -- Its place among those of the account: there are five.
    slot          integer     NOT NULL CHECK (slot BETWEEN 1 AND 5),
    number        text        COLLATE "C" CHECK (number ~ '^\+[1-9][0-9]{6,14}$'),
    sealed_secret bytea       CHECK (length(sealed_secret) <= 512),
    -- The last time step whose code was accepted (RFC 6238 §5.2): only a later one counts.
    last_step     bigint      CHECK (last_step >= 0),
    -- The request that it was accepted from, made beforehand: of many racers it tells which one.
    accepted_by   uuid,
    display_name  text        CHECK (length(display_name) BETWEEN 1 AND 256),
    enrolled_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, enrollment_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE,
    -- Looked at when all of a change is written: an administrator may give two of them each other's place or number.
    CONSTRAINT second_factors_slot_key UNIQUE (tenant_id, user_id, slot) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT second_factors_number_key UNIQUE (tenant_id, user_id, number) DEFERRABLE INITIALLY DEFERRED,
    CHECK ((number IS NULL) = (sealed_secret IS NOT NULL)),
    CHECK ((sealed_secret IS NULL) = (last_step IS NULL)),
    CHECK (accepted_by IS NULL OR last_step IS NOT NULL)
);

-- A sign-in whose first factor was right and that waits for the second, or the secret of a factor that is being set up.
-- A client holds a sealed handle that names the row; what was begun is sealed too.
CREATE TABLE factor_challenges (
    tenant_id      text        COLLATE "C" NOT NULL DEFAULT '',
    user_id        text        COLLATE "C" NOT NULL,
    challenge_id   bytea       NOT NULL CHECK (length(challenge_id) = 16),
    purpose        text        COLLATE "C" NOT NULL CHECK (purpose IN ('sign-in', 'enrollment')),
    -- The account's epoch at the time: it dies with the sessions.
    session_epoch  bigint      NOT NULL,
    sealed_content bytea       NOT NULL,
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL CHECK (expires_at > created_at),
    consumed_at    timestamptz,
    consumed_by    uuid,
    -- Wrong codes.
    attempts       integer     NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 5),
    PRIMARY KEY (tenant_id, user_id, challenge_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE,
    CHECK ((consumed_by IS NULL) = (consumed_at IS NULL))
);

CREATE INDEX factor_challenges_by_expiry ON factor_challenges (expires_at);

ALTER TABLE one_time_codes
    -- What the code takes off the account.
    ADD COLUMN second_factor_id text COLLATE "C",
    DROP CONSTRAINT one_time_codes_kind_check,
    ADD CONSTRAINT one_time_codes_kind_check CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN', 'VERIFY_EMAIL',
        'VERIFY_AND_CHANGE_EMAIL', 'RECOVER_EMAIL', 'REVERT_SECOND_FACTOR_ADDITION')),
    ADD CONSTRAINT one_time_codes_second_factor_check
        CHECK ((kind = 'REVERT_SECOND_FACTOR_ADDITION') = (second_factor_id IS NOT NULL));
