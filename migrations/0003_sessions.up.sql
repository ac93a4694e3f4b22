-- A session is a refresh token's server side. The token carries user and session id, so its row is found by key; the
-- secret is stored hashed. A session lives while its epoch equals the user's.

CREATE TABLE sessions (
    tenant_id          text        COLLATE "C" NOT NULL DEFAULT '',
    user_id            text        COLLATE "C" NOT NULL,
    session_id         bytea       NOT NULL CHECK (length(session_id) = 16),
    secret_hash        bytea       NOT NULL CHECK (length(secret_hash) = 32),
    session_epoch      bigint      NOT NULL,
    auth_time          timestamptz NOT NULL,
    sign_in_provider   text        NOT NULL,
    second_factor      text,
    second_factor_id   text,
    -- Claims that belong to the session: custom token claims, OIDC claims of this sign-in.
    session_claims     jsonb,
    sign_in_attributes jsonb,
    PRIMARY KEY (tenant_id, user_id, session_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE,
    CHECK ((second_factor IS NULL) = (second_factor_id IS NULL))
);
