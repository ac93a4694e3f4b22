DROP INDEX conflicts_live;

ALTER TABLE conflicts
    DROP CONSTRAINT conflicts_state_check,
    DROP CONSTRAINT conflicts_closed_check,
    DROP CONSTRAINT conflicts_proof_check,
    DROP CONSTRAINT conflicts_proven_check;

UPDATE conflicts SET state = 'open' WHERE state = 'proven';
UPDATE conflicts SET state = 'superseded' WHERE state = 'declined';

ALTER TABLE conflicts
    DROP COLUMN version,
    DROP COLUMN proofs_started,
    DROP COLUMN proof_kind,
    DROP COLUMN proof_session_epoch,
    DROP COLUMN proof_policy_version,
    DROP COLUMN proof_email,
    DROP COLUMN proof_link_hash,
    DROP COLUMN proof_sealed_code,
    DROP COLUMN proof_attempts,
    DROP COLUMN proof_expires_at,
    DROP COLUMN proof_token_hash,
    ADD CONSTRAINT conflicts_state_check CHECK (state IN ('open', 'resolved', 'superseded')),
    ADD CONSTRAINT conflicts_check1 CHECK ((state = 'open') = (closed_at IS NULL));

CREATE UNIQUE INDEX conflicts_open ON conflicts (tenant_id, user_id, identity_digest) WHERE state = 'open';
