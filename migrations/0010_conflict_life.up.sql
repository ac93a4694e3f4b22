-- A conflict has a life: open, proven by the owner of the account it concerns, and then resolved, declined or superseded.
-- That it has expired follows from the time.

DROP INDEX conflicts_open;

ALTER TABLE conflicts
    DROP CONSTRAINT conflicts_state_check,
    DROP CONSTRAINT conflicts_check1,
    -- Raised by every change; set to NULL by a writer that decided on an older one, and stopped thereby.
    ADD COLUMN version              bigint      NOT NULL DEFAULT 1,
    -- Proofs asked for so far: each sends a mail.
    ADD COLUMN proofs_started       integer     NOT NULL DEFAULT 0 CHECK (proofs_started BETWEEN 0 AND 100),
    -- The proof that was asked for last, and what it is bound to.
    ADD COLUMN proof_kind           text,
    ADD COLUMN proof_session_epoch  bigint,
    ADD COLUMN proof_policy_version bigint,
    ADD COLUMN proof_email          text        CHECK (length(proof_email) BETWEEN 3 AND 255),
    -- SHA-256 of the secret in the mailed link; the short code is sealed, because its hash could be searched through.
    ADD COLUMN proof_link_hash      bytea       CHECK (length(proof_link_hash) = 32),
    ADD COLUMN proof_sealed_code    bytea,
    ADD COLUMN proof_attempts       integer     NOT NULL DEFAULT 0 CHECK (proof_attempts >= 0),
    ADD COLUMN proof_expires_at     timestamptz,
    -- SHA-256 of the token that whoever gave the proof was handed.
    ADD COLUMN proof_token_hash     bytea       CHECK (length(proof_token_hash) = 32),
    ADD CONSTRAINT conflicts_state_check CHECK (state IN ('open', 'proven', 'resolved', 'declined', 'superseded')),
    ADD CONSTRAINT conflicts_closed_check CHECK ((state IN ('open', 'proven')) = (closed_at IS NULL)),
    ADD CONSTRAINT conflicts_proof_check CHECK (
        (proof_kind IS NULL) = (proof_expires_at IS NULL)
        AND (proof_kind IS NULL) = (proof_session_epoch IS NULL)
        AND (proof_kind IS NULL) = (proof_policy_version IS NULL)
    ),
    ADD CONSTRAINT conflicts_proven_check CHECK (state <> 'proven' OR proof_token_hash IS NOT NULL);

-- One live conflict per account and identity: a second attempt joins the first.
CREATE UNIQUE INDEX conflicts_live ON conflicts (tenant_id, user_id, identity_digest) WHERE state IN ('open', 'proven');
