-- Telephone numbers that somebody shows to hold, and how many messages leave for that.

-- A client holds an id with a secret; only the secret's digest is stored, the code sealed. What it proves is that somebody
-- reads the messages to the number; whose account that concerns is looked at when it comes back. No foreign key: an account
-- may not exist yet.
CREATE TABLE phone_verifications (
    tenant_id       text        COLLATE "C" NOT NULL DEFAULT '',
    verification_id bytea       NOT NULL CHECK (length(verification_id) = 16),
    -- SHA-256 of each secret: requests that share one message have a session each.
    session_digests bytea[]     NOT NULL CHECK (cardinality(session_digests) BETWEEN 1 AND 10),
    purpose         text        COLLATE "C" NOT NULL CHECK (purpose IN ('sign-in', 'enrollment', 'second-factor',
                                                                        'temporary-proof')),
    -- Whose second factor it is about.
    user_id         text        COLLATE "C",
    number          text        COLLATE "C" NOT NULL CHECK (number ~ '^\+[1-9][0-9]{6,14}$'),
    -- NULL where the project's configuration holds the code, or none is asked for.
    sealed_code     bytea       CHECK (length(sealed_code) <= 512),
    -- Later requests for the number may join it: one message at a time.
    is_current      boolean     NOT NULL,
    created_at      timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    consumed_at     timestamptz,
    -- The request that used it, made beforehand: of many racers it tells which one.
    consumed_by     uuid,
    -- Wrong codes.
    attempts        integer     NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 5),
    PRIMARY KEY (tenant_id, verification_id),
    CHECK (consumed_by IS NULL OR consumed_at IS NOT NULL),
    CHECK ((user_id IS NOT NULL) = (purpose IN ('enrollment', 'second-factor'))),
    CHECK (NOT is_current OR (consumed_at IS NULL AND sealed_code IS NOT NULL))
);

CREATE UNIQUE INDEX phone_verifications_current ON phone_verifications (tenant_id, number, purpose) WHERE is_current;
CREATE INDEX phone_verifications_by_expiry ON phone_verifications (expires_at);

-- How many messages left: for one number, for one network address, for the whole project.
CREATE TABLE message_counts (
    tenant_id    text        COLLATE "C" NOT NULL DEFAULT '',
    -- SHA-256 over what is counted by and the length of the window.
    count_digest bytea       NOT NULL CHECK (length(count_digest) = 32),
    messages     bigint      NOT NULL CHECK (messages > 0),
    -- The row counts no more from then on.
    ends_at      timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, count_digest)
);

CREATE INDEX message_counts_by_end ON message_counts (ends_at);
