DROP INDEX identifiers_reserved;

ALTER TABLE identifiers
    DROP CONSTRAINT identifiers_reserved_check,
    ADD CONSTRAINT identifiers_reserved_check CHECK (reserved_until IS NULL OR kind = 'email') NOT VALID;
ALTER TABLE outbox
    DROP CONSTRAINT outbox_state_check,
    ADD CONSTRAINT outbox_state_check CHECK (state IN ('pending', 'sent', 'failed', 'withheld', 'discarded')) NOT VALID;
