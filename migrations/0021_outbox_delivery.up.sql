-- What delivering the outbox takes: why a message was not taken, and dead letters that can be sent after all.

ALTER TABLE outbox
    -- Why the last attempt failed: an SMTP status, or a word such as 'timeout'. No address, code or content.
    ADD COLUMN reason text CHECK (reason ~ '^[ -~]{1,64}$'),
    DROP CONSTRAINT outbox_check,
    -- A message that was given up keeps its content until it expires, because an operator may have it sent again.
    ADD CONSTRAINT outbox_payload_check CHECK (state = 'failed' OR (state = 'pending') = (sealed_payload IS NOT NULL));

-- Each way out has workers of its own, and what waits for one that nobody configured must not be in the others' way.
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (kind, next_attempt_at) WHERE state = 'pending';
CREATE INDEX outbox_waiting ON outbox (kind, created_at) WHERE state = 'pending';
CREATE INDEX outbox_failed ON outbox (created_at) WHERE state = 'failed';
