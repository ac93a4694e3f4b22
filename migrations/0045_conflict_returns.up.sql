-- The way back from the page of a conflict to the app, and the one-time code that hands the session over to the app.

CREATE TABLE conflict_returns (
    tenant_id      text        COLLATE "C" NOT NULL DEFAULT '',
    user_id        text        COLLATE "C" NOT NULL,
    conflict_id    bytea       NOT NULL,
    continue_url   text        NOT NULL CHECK (octet_length(continue_url) BETWEEN 1 AND 2048),
    -- The app's own value, which comes back with its user (RFC 6749 section 4.1.1).
    state          text        CHECK (octet_length(state) BETWEEN 1 AND 512),
    -- SHA-256 of the app's code verifier (RFC 7636 section 4.2); NULL: the app asked for no session.
    code_challenge bytea       CHECK (length(code_challenge) = 32),
    -- The session that resolving the conflict opened; NULL until then.
    session_id     bytea       CHECK (length(session_id) = 16),
    -- SHA-256 of the newest code.
    code_hash      bytea       CHECK (length(code_hash) = 32),
    code_ends_at   timestamptz,
    -- Wrong verifiers.
    attempts       integer     NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 5),
    -- The session that the code gave; NULL until it is used.
    given_session  bytea       CHECK (length(given_session) = 16),
    PRIMARY KEY (tenant_id, user_id, conflict_id),
    FOREIGN KEY (tenant_id, user_id, conflict_id) REFERENCES conflicts ON DELETE CASCADE,
    CHECK ((code_hash IS NULL) = (code_ends_at IS NULL)),
    CHECK (code_hash IS NULL OR (code_challenge IS NOT NULL AND session_id IS NOT NULL)),
    CHECK (given_session IS NULL OR code_hash IS NOT NULL)
);

CREATE UNIQUE INDEX conflict_returns_by_code ON conflict_returns (tenant_id, code_hash) WHERE code_hash IS NOT NULL;
