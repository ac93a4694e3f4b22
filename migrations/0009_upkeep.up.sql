-- Wrong passwords by address, and the order in which rows are given up.

-- Counts for an address, not for an account: what nobody owns is guarded like what somebody does, so that an answer
-- does not tell them apart. Only a digest is kept, because most of these addresses are nobody's.
CREATE TABLE password_attempts (
    tenant_id      text        COLLATE "C" NOT NULL DEFAULT '',
    -- SHA-256 over the canonical address.
    address_digest bytea       NOT NULL CHECK (length(address_digest) = 32),
    -- Wrong passwords since the last right one.
    failures       integer     NOT NULL CHECK (failures BETWEEN 1 AND 100),
    -- No password is tried before then; in the past where the next may be tried at once.
    locked_until   timestamptz NOT NULL,
    -- The row counts no more from then on.
    forgotten_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, address_digest),
    CHECK (locked_until <= forgotten_at)
);

-- What is past its time is found without reading the rest.
CREATE INDEX password_attempts_by_end ON password_attempts (forgotten_at);
CREATE INDEX one_time_codes_by_expiry ON one_time_codes (expires_at);
CREATE INDEX outbox_by_expiry ON outbox (expires_at);
CREATE INDEX outbox_done ON outbox (created_at) WHERE state <> 'pending';
