DROP INDEX outbox_failed;
DROP INDEX outbox_waiting;
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (next_attempt_at) WHERE state = 'pending';

-- The version before knows no dead letter with content.
UPDATE outbox SET sealed_payload = NULL WHERE state = 'failed';
ALTER TABLE outbox
    DROP CONSTRAINT outbox_payload_check,
    ADD CONSTRAINT outbox_check CHECK ((state = 'pending') = (sealed_payload IS NOT NULL)),
    DROP COLUMN reason;
