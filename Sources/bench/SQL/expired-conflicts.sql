-- Adds :conflicts conflicts whose time ended an hour ago, spread over :users accounts, as they lie between their end and
-- the purge: open, and so in every index that an open one is in.

SET session_replication_role = replica;

INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
    sealed_credential, opened_at, expires_at)
SELECT left(encode(sha256(convert_to('user-' || (1 + n % :users), 'UTF8')), 'hex'), 28),
    substring(digest FOR 16), 'open', 'account-exists-with-different-credential', 'github.com', digest,
    ARRAY[digest], digest, now() - interval '2 hours', now() - interval '1 hour'
FROM (SELECT n, sha256(convert_to('expired-' || n, 'UTF8')) AS digest FROM generate_series(1, :conflicts) AS n) AS made;

ANALYZE conflicts;
CHECKPOINT;
