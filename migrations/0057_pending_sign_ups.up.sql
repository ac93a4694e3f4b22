-- Sign-ups that wait until the owner of the mailbox continues them. A row belongs to no account: free addresses and
-- those of accounts get the same row, so that neither the answer nor its time says who has an account.
CREATE TABLE pending_sign_ups (
    tenant_id         text        COLLATE "C" NOT NULL DEFAULT '',
    -- SHA-256 of the handle.
    sign_up_digest    bytea       NOT NULL CHECK (length(sign_up_digest) = 32),
    email             text        NOT NULL CHECK (length(email) BETWEEN 3 AND 255),
    -- SHA-256 of the secret in the mailed link.
    link_hash         bytea       NOT NULL CHECK (length(link_hash) = 32),
    sealed_code       bytea       NOT NULL CHECK (length(sealed_code) <= 512),
    -- The provider's credential; NULL for a sign-up with a password.
    sealed_credential bytea,
    -- Codes typed so far.
    attempts          integer     NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 5),
    created_at        timestamptz NOT NULL,
    expires_at        timestamptz NOT NULL,
    consumed_at       timestamptz,
    -- The request that used it.
    consumed_by       uuid,
    PRIMARY KEY (tenant_id, sign_up_digest),
    CHECK (expires_at > created_at),
    CHECK (consumed_at >= created_at)
);

CREATE INDEX pending_sign_ups_by_expiry ON pending_sign_ups (expires_at);
