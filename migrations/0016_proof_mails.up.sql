-- Mails that ask the owner of an account for a proof: ten an hour, whatever the conflict.

CREATE TABLE proof_mails (
    tenant_id text        COLLATE "C" NOT NULL DEFAULT '',
    user_id   text        COLLATE "C" NOT NULL,
    -- Bounds how many there are.
    place     integer     NOT NULL CHECK (place BETWEEN 1 AND 10),
    -- The mail counts no more from then on.
    free_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, place),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE
);

CREATE INDEX proof_mails_by_end ON proof_mails (free_at);
