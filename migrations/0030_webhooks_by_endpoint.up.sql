-- What is due is looked for by endpoint: what waits for one that does not answer must not be in the way of the others.

DROP INDEX webhook_messages_due;
CREATE INDEX webhook_messages_due ON webhook_messages (endpoint_id, next_attempt_at) WHERE state = 'pending';
