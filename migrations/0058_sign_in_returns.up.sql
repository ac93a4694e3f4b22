-- The one-time codes that hand a session of the sign-in page over to an app.

CREATE TABLE sign_in_returns (
    tenant_id      text        COLLATE "C" NOT NULL DEFAULT '',
    user_id        text        COLLATE "C" NOT NULL,
    -- The session of the page. It has one code; a new one replaces it.
    session_id     bytea       NOT NULL CHECK (length(session_id) = 16),
    continue_url   text        NOT NULL CHECK (octet_length(continue_url) BETWEEN 1 AND 2048),
    -- SHA-256 of the app's code verifier (RFC 7636 section 4.2).
    code_challenge bytea       NOT NULL CHECK (length(code_challenge) = 32),
    -- SHA-256 of the code.
    code_hash      bytea       NOT NULL CHECK (length(code_hash) = 32),
    code_ends_at   timestamptz NOT NULL,
    -- Wrong verifiers.
    attempts       integer     NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 5),
    -- The session that the code gave; NULL until it is used.
    given_session  bytea       CHECK (length(given_session) = 16),
    PRIMARY KEY (tenant_id, user_id, session_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE
);

CREATE INDEX sign_in_returns_by_end ON sign_in_returns (code_ends_at);
