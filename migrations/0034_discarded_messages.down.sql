ALTER TABLE audit_steps DROP COLUMN message_id;

-- The version before knows no discarded message; one that has failed without a content is never sent.
UPDATE outbox SET state = 'failed' WHERE state = 'discarded';
ALTER TABLE outbox
    DROP COLUMN postponed_until,
    DROP CONSTRAINT outbox_state_check,
    ADD CONSTRAINT outbox_state_check CHECK (state IN ('pending', 'sent', 'failed', 'withheld'));
