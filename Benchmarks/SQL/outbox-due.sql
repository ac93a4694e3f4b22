-- Makes all pending messages due, including those that wait for a retry.
UPDATE outbox SET next_attempt_at = now() WHERE state = 'pending' AND attempts > 0;
