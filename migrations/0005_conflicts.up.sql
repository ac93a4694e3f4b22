-- A conflict keeps a verified provider credential that could not be applied, until its owner has shown who they are.
--
-- It stands with the account it concerns. The credential is sealed; the digests find the conflict again when a client
-- replays what it had instead of the handle.

CREATE TABLE conflicts (
    tenant_id         text        COLLATE "C" NOT NULL DEFAULT '',
    user_id           text        COLLATE "C" NOT NULL,
    conflict_id       bytea       NOT NULL CHECK (length(conflict_id) = 16),
    -- Set to NULL by whoever finds the conflict in another state than expected, and stopped thereby.
    state             text        NOT NULL CHECK (state IN ('open', 'resolved', 'superseded')),
    kind              text        NOT NULL
        CHECK (kind IN ('account-exists-with-different-credential', 'credential-already-in-use', 'email-already-in-use')),
    provider_id       text        COLLATE "C" NOT NULL,
    -- SHA-256 over provider, issuer and subject.
    identity_digest   bytea       NOT NULL CHECK (length(identity_digest) = 32),
    -- SHA-256 of each token the credential came with.
    token_digests     bytea[]     NOT NULL,
    sealed_credential bytea       NOT NULL,
    opened_at         timestamptz NOT NULL,
    expires_at        timestamptz NOT NULL CHECK (expires_at > opened_at),
    closed_at         timestamptz,
    PRIMARY KEY (tenant_id, user_id, conflict_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE,
    CHECK ((state = 'open') = (closed_at IS NULL))
);

-- One open conflict per account and identity: a second attempt joins the first.
CREATE UNIQUE INDEX conflicts_open ON conflicts (tenant_id, user_id, identity_digest) WHERE state = 'open';
-- Expired conflicts are found without reading the others.
CREATE INDEX conflicts_by_expiry ON conflicts (expires_at);
