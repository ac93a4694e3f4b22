-- Wrong passwords by network and device, and the networks of recent sign-ins, with the address first in the key. On
-- Citus the rows of an address are in the shard of its own row in `password_attempts`. Rows of networks and devices that
-- `password_attempts` has are no longer read; the purge deletes them within 30 days.
CREATE TABLE password_sources (
    tenant_id      text        COLLATE "C" NOT NULL DEFAULT '',
    -- SHA-256 over the canonical address.
    address_digest bytea       NOT NULL CHECK (length(address_digest) = 32),
    -- SHA-256 over the address and the network or device.
    source_digest  bytea       NOT NULL CHECK (length(source_digest) = 32),
    -- Wrong passwords since the last right one; 0: a known network without wrong passwords.
    failures       integer     NOT NULL,
    -- No password is tried before then; in the past if the next may be tried at once.
    locked_until   timestamptz NOT NULL,
    -- The count ends then.
    forgotten_at   timestamptz NOT NULL,
    -- The session epoch of the account that signed in from the network. When its sessions end, the network is unknown.
    known_epoch    bigint,
    known_until    timestamptz,
    PRIMARY KEY (tenant_id, address_digest, source_digest),
    CONSTRAINT password_sources_times_check CHECK (locked_until <= forgotten_at),
    CONSTRAINT password_sources_failures_check CHECK (
        failures BETWEEN 0 AND 100 AND (failures > 0 OR known_until IS NOT NULL)
    ),
    CONSTRAINT password_sources_known_check CHECK ((known_epoch IS NULL) = (known_until IS NULL))
);

-- A row ends when it neither counts nor is known.
CREATE INDEX password_sources_by_end ON password_sources (greatest(forgotten_at, known_until));
