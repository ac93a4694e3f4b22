-- Ends the pauses between the attempts to send what waits.
UPDATE outbox SET next_attempt_at = now() WHERE state = 'pending' AND attempts > 0;
