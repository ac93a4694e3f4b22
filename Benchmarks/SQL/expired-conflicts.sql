-- Adds :conflicts conflicts that expired an hour ago, spread over :users accounts. The purge has not deleted them yet,
-- so they are still open and in every index of open conflicts.

SET session_replication_role = replica;
SET synchronous_commit = off;
SET maintenance_work_mem = '512MB';

-- Indexes are built once at the end. Maintaining them for each row, in random order, takes many times as long.
CREATE TEMPORARY TABLE indexes AS
SELECT format('ALTER TABLE conflicts DROP CONSTRAINT %I', conname) AS away,
    format('ALTER TABLE conflicts ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)) AS back
FROM pg_constraint WHERE conrelid = 'conflicts'::regclass AND contype = 'p'
UNION ALL
SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
FROM pg_index WHERE indrelid = 'conflicts'::regclass AND NOT indisprimary;
SELECT away FROM indexes \gexec

INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests,
    sealed_credential, opened_at, expires_at)
SELECT left(encode(sha256(convert_to('user-' || (1 + n % :users), 'UTF8')), 'hex'), 28),
    substring(digest FOR 16), 'open', 'account-exists-with-different-credential', 'github.com', digest,
    ARRAY[digest], digest, now() - interval '2 hours', now() - interval '1 hour'
FROM (SELECT n, sha256(convert_to('expired-' || n, 'UTF8')) AS digest FROM generate_series(1, :conflicts) AS n) AS made;

SELECT back FROM indexes \gexec
VACUUM (ANALYZE) conflicts;
CHECKPOINT;
