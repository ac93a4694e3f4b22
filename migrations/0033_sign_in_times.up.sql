-- The ID tokens of providers that opened a session, each until its end: none is accepted twice for a reauthentication.

CREATE TABLE used_id_tokens (
    tenant_id    text        COLLATE "C" NOT NULL DEFAULT '',
    user_id      text        COLLATE "C" NOT NULL,
    -- SHA-256 of what the provider signed.
    token_digest bytea       NOT NULL CHECK (length(token_digest) = 32),
    expires_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, token_digest),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE
);

CREATE INDEX used_id_tokens_by_expiry ON used_id_tokens (expires_at);

-- When the session began, where the sign-in at its provider was earlier; auth_time is that of the sign-in.
ALTER TABLE sessions ADD COLUMN started_at timestamptz;
