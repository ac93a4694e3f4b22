DROP TABLE kept_answers;

CREATE TABLE kept_answers (
    tenant_id      text        COLLATE "C" NOT NULL DEFAULT '',
    -- The account that the request was about; empty where it was about none.
    user_id        text        COLLATE "C" NOT NULL CHECK (length(user_id) <= 128),
    -- SHA-256 over the caller's credential, the route and the key.
    key_digest     bytea       NOT NULL CHECK (length(key_digest) = 32),
    -- SHA-256 over what was asked.
    request_digest bytea       NOT NULL CHECK (length(request_digest) = 32),
    -- May hold tokens.
    sealed_answer  bytea       NOT NULL CHECK (length(sealed_answer) <= 65536),
    expires_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, key_digest)
);

CREATE INDEX kept_answers_by_expiry ON kept_answers (expires_at);
