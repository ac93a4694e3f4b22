-- Fills a migrated database through psql with :users accounts, with the rows that Concord writes.
--
-- User n has the address user-n@example.com, an id derived from n, and the epoch n, so that the benchmark can sign
-- tokens for it. The first :linked users have an identity at :issuer and a session each, the first :passwords a
-- password.

-- The rows are consistent by construction; checking each foreign key would take longer than writing them.
SET session_replication_role = replica;

INSERT INTO users (user_id, session_epoch, email, initial_email, display_name, valid_since, created_at,
    last_login_at, last_refresh_at)
SELECT left(encode(sha256(convert_to('user-' || n, 'UTF8')), 'hex'), 28), n, 'user-' || n || '@example.com',
    'user-' || n || '@example.com', 'User ' || n, date_trunc('second', now()) - interval '1 day',
    now() - interval '1 day', now() - interval '1 day', now() - interval '1 day'
FROM generate_series(1, :users) AS n;

INSERT INTO identifiers (kind, value, user_id)
SELECT 'email', 'user-' || n || '@example.com', left(encode(sha256(convert_to('user-' || n, 'UTF8')), 'hex'), 28)
FROM generate_series(1, :users) AS n;

INSERT INTO identifiers (kind, value, user_id)
SELECT 'federated', 'oidc.bench' || chr(31) || 'subject-' || n,
    left(encode(sha256(convert_to('user-' || n, 'UTF8')), 'hex'), 28)
FROM generate_series(1, :linked) AS n;

INSERT INTO linked_providers (user_id, provider_id, subject, issuer, email, email_key, display_name, linked_at,
    updated_at)
SELECT left(encode(sha256(convert_to('user-' || n, 'UTF8')), 'hex'), 28), 'oidc.bench', 'subject-' || n, :'issuer',
    'user-' || n || '@example.com', 'user-' || n || '@example.com', 'User ' || n, now() - interval '1 day',
    now() - interval '1 day'
FROM generate_series(1, :linked) AS n;

INSERT INTO password_credentials (user_id, hash, updated_at)
SELECT left(encode(sha256(convert_to('user-' || n, 'UTF8')), 'hex'), 28), :'hash', now() - interval '1 day'
FROM generate_series(1, :passwords) AS n;

INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
SELECT left(encode(sha256(convert_to('user-' || n, 'UTF8')), 'hex'), 28), 'oidc.bench', 'provider-credential',
    now() - interval '1 day'
FROM generate_series(1, :linked) AS n;

INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
SELECT left(encode(sha256(convert_to('user-' || n, 'UTF8')), 'hex'), 28), 'password', 'sign-up',
    now() - interval '1 day'
FROM generate_series(1, :passwords) AS n;

INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
SELECT left(encode(sha256(convert_to('user-' || n, 'UTF8')), 'hex'), 28),
    substring(sha256(convert_to('session-' || n, 'UTF8')) FOR 16),
    sha256(sha256(convert_to('secret-' || n, 'UTF8'))), n, now() - interval '1 hour', 'oidc.bench'
FROM generate_series(1, :linked) AS n;

INSERT INTO provider_configs (provider_id, enabled, display_name, client_id, issuer, created_at, updated_at)
VALUES ('oidc.bench', true, 'Bench', 'concord-bench', :'issuer', now(), now());

-- The table that `pgbench -S` reads, as `pgbench --initialize` creates it, with :users rows.
CREATE TABLE pgbench_accounts (aid integer NOT NULL, bid integer, abalance integer, filler character(84))
    WITH (fillfactor = 100);
INSERT INTO pgbench_accounts SELECT n, 1, 0, '' FROM generate_series(1, :users) AS n;
ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid);

VACUUM (ANALYZE);
CHECKPOINT;
