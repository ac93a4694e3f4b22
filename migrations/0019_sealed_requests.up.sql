-- What was asked under an Idempotency-Key is sealed together with its answer. It stood beside it as a bare digest, which hides
-- no password from whoever can guess.

-- What was kept so far can no longer be read: a request that is repeated across this migration is judged anew.
DELETE FROM kept_answers;
ALTER TABLE kept_answers DROP COLUMN request_digest;
