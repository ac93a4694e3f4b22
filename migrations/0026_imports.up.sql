-- Secrets that imported password hashes share: a signer key with its salt separator, sealed. A hash names one by key_id.
CREATE TABLE hash_keys (
    -- There are so many, and no more.
    slot       integer     PRIMARY KEY CHECK (slot BETWEEN 1 AND 100),
    key_id     text        COLLATE "C" NOT NULL UNIQUE CHECK (key_id ~ '^[0-9a-f]{16}$'),
    sealed_key bytea       NOT NULL CHECK (length(sealed_key) <= 8192),
    created_at timestamptz NOT NULL
);
