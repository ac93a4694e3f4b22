-- Fills a migrated database through psql with :users accounts and 2.3 identities each, for audits.
--
-- The first half of the accounts has no findings. In the second half, the number of an account modulo 1,000 selects the
-- rule that it breaks, if any; `audit_labels` lists the expected findings. An account without findings has an address
-- proven by a mailed code, a current password hash, Google and Facebook, a session begun with the password, and in 3 of
-- 10 cases GitHub.

SET session_replication_role = replica;

CREATE TEMP TABLE numbered AS
SELECT n, left(encode(sha256(convert_to('user-' || n, 'UTF8')), 'hex'), 28) COLLATE "C" AS user_id,
    CASE WHEN n > :users / 2 THEN n % 1000 ELSE 0 END AS defect
FROM generate_series(1, :users) AS n;
CREATE UNIQUE INDEX ON numbered (n);
ANALYZE numbered;

INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, display_name, valid_since, created_at,
    last_login_at)
SELECT user_id, n, 'person-' || n || '@example.com', 'mailed-code', now() - interval '80 days', 'Person ' || n,
    now() - interval '90 days', now() - interval '90 days', now() - interval '1 day'
FROM numbered;

INSERT INTO password_credentials (user_id, hash, updated_at)
SELECT user_id, '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$'
    || encode(sha256(convert_to('hash-' || n, 'UTF8')), 'hex'), now() - interval '90 days'
FROM numbered;

INSERT INTO linked_providers (user_id, provider_id, subject, email, email_key, display_name, linked_at, updated_at)
SELECT user_id, provider, 'subject-' || n, 'person-' || n || '@example.com', 'person-' || n || '@example.com',
    'Person ' || n, now() - interval '70 days', now() - interval '1 day'
FROM numbered, unnest(CASE WHEN n % 10 < 3 THEN ARRAY['google.com', 'facebook.com', 'github.com']
    ELSE ARRAY['google.com', 'facebook.com'] END) AS provider;

INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
SELECT user_id, 'password', 'sign-up', now() - interval '90 days' FROM numbered
UNION ALL
SELECT user_id, provider_id, 'provider-credential', linked_at FROM linked_providers;

INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
SELECT user_id, substring(sha256(convert_to('session-' || n, 'UTF8')) FOR 16),
    sha256(convert_to('secret-' || n, 'UTF8')), n, now() - interval '1 day', 'password'
FROM numbered;

INSERT INTO provider_configs (provider_id, enabled, client_id, created_at, updated_at)
SELECT provider, true, 'bench', now(), now() FROM unnest(ARRAY['google.com', 'facebook.com', 'github.com']) AS provider;

-- The defects. The claims are written at the end and match the changed accounts, except where the defect is a claim.
CREATE TABLE audit_labels (rule text NOT NULL, user_id text COLLATE "C" NOT NULL);

-- Each number modulo 1,000, and the rule that must find the account. Rules about several accounts have two numbers and
-- report the account with the lower id.
INSERT INTO audit_labels
SELECT rule, user_id FROM numbered JOIN (VALUES
    (1, 'unreadable-value'), (2, 'record-without-user'), (3, 'method-without-credential'),
    (4, 'identifier-without-claim'), (5, 'claim-without-owner'), (6, 'user-without-sign-in-method'),
    (7, 'address-proven-by-nobody'), (8, 'address-proven-by-untrusted-provider'),
    (9, 'unproven-address-with-providers'), (10, 'method-older-than-proof'),
    (11, 'second-factor-on-unproven-address'), (11, 'unproven-address-with-providers'),
    (12, 'disabled-with-live-sessions'), (13, 'weak-password-hash'), (14, 'unused-password'),
    (17, 'provider-address-differs'), (18, 'identity-wanted-by-two-accounts'), (19, 'recycled-address'),
    (20, 'stale-number'), (21, 'stale-email-change'), (22, 'overdue-records')
) AS rules (place, rule) ON defect = place;

INSERT INTO audit_labels
SELECT rule, min(user_id) FROM numbered JOIN (VALUES
    (15, 'same-address-in-several-accounts'), (16, 'same-address-in-several-accounts'),
    (23, 'look-alike-addresses'), (24, 'look-alike-addresses'), (25, 'shared-number'), (26, 'shared-number')
) AS rules (place, rule) ON defect = place
GROUP BY rule, n / 1000;
INSERT INTO audit_labels SELECT 'provider-address-differs', user_id FROM numbered WHERE defect = 15;

UPDATE users SET email_proof = 'a friend' FROM numbered AS d WHERE d.user_id = users.user_id AND defect = 1;
DELETE FROM users USING numbered AS d WHERE d.user_id = users.user_id AND defect = 2;
DELETE FROM password_credentials USING numbered AS d WHERE d.user_id = password_credentials.user_id AND defect = 2;
DELETE FROM linked_providers USING numbered AS d WHERE d.user_id = linked_providers.user_id AND defect = 2;
DELETE FROM sign_in_methods USING numbered AS d WHERE d.user_id = sign_in_methods.user_id AND defect = 2;
DELETE FROM sign_in_methods USING numbered AS d
WHERE d.user_id = sign_in_methods.user_id AND defect = 3 AND method = 'password';
DELETE FROM password_credentials USING numbered AS d WHERE d.user_id = password_credentials.user_id AND defect = 6;
DELETE FROM linked_providers USING numbered AS d WHERE d.user_id = linked_providers.user_id AND defect = 6;
DELETE FROM sign_in_methods USING numbered AS d WHERE d.user_id = sign_in_methods.user_id AND defect = 6;
UPDATE users SET email_proof = 'administrator' FROM numbered AS d WHERE d.user_id = users.user_id AND defect = 7;
UPDATE users SET email_proof = 'provider:github.com' FROM numbered AS d WHERE d.user_id = users.user_id AND defect = 8;
UPDATE users SET email_proven_at = now() - interval '91 days' FROM numbered AS d
WHERE d.user_id = users.user_id AND defect = 8;
UPDATE users SET email_proof = NULL, email_proven_at = NULL FROM numbered AS d
WHERE d.user_id = users.user_id AND defect IN (9, 11);
UPDATE users SET email_proof = 'email-link', email_proven_at = now() - interval '80 days' FROM numbered AS d
WHERE d.user_id = users.user_id AND defect = 10;
INSERT INTO second_factors (user_id, enrollment_id, slot, sealed_secret, last_step, enrolled_at)
SELECT user_id, 'factor', 1, '\x00', 0, now() FROM numbered WHERE defect = 11;
UPDATE users SET disabled = true FROM numbered AS d WHERE d.user_id = users.user_id AND defect = 12;
UPDATE password_credentials SET hash = '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy' FROM numbered AS d
WHERE d.user_id = password_credentials.user_id AND defect = 13;
DELETE FROM sessions USING numbered AS d WHERE d.user_id = sessions.user_id AND defect = 14;
UPDATE linked_providers SET email = 'person-' || n + 1 || '@example.com', email_key = 'person-' || n + 1 || '@example.com'
FROM numbered AS d WHERE d.user_id = linked_providers.user_id AND defect = 15 AND provider_id = 'google.com';
UPDATE linked_providers SET email = 'work-' || n || '@example.org', email_key = 'work-' || n || '@example.org'
FROM numbered AS d WHERE d.user_id = linked_providers.user_id AND defect = 17 AND provider_id = 'google.com';
INSERT INTO conflicts (user_id, conflict_id, state, kind, provider_id, identity_digest, token_digests, sealed_credential,
    opened_at, expires_at, closed_at)
SELECT user_id, substring(sha256(convert_to('conflict-' || n, 'UTF8')) FOR 16),
    CASE defect WHEN 18 THEN 'open' ELSE 'declined' END,
    CASE defect WHEN 18 THEN 'credential-already-in-use' ELSE 'account-exists-with-different-credential' END,
    CASE defect WHEN 18 THEN 'apple.com' ELSE 'google.com' END, sha256(convert_to('identity-' || n, 'UTF8')), '{}', '',
    now() - interval '1 hour', now() + interval '1 hour', CASE defect WHEN 18 THEN NULL ELSE now() END
FROM numbered WHERE defect IN (18, 19);
UPDATE users SET phone_number = '+1555' || lpad(n::text, 8, '0'), created_at = now() - interval '900 days',
    last_login_at = now() - interval '400 days'
FROM numbered AS d WHERE d.user_id = users.user_id AND defect = 20;
INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
SELECT user_id, 'phone', 'message', now() - interval '800 days' FROM numbered WHERE defect = 20;
INSERT INTO one_time_codes (code_hash, kind, user_id, session_epoch, email, email_key, new_email, created_at, expires_at)
SELECT sha256(convert_to('code-' || n, 'UTF8')), 'VERIFY_AND_CHANGE_EMAIL', user_id, n, 'person-' || n || '@example.com',
    'person-' || n || '@example.com', 'new-' || n || '@example.com', now() - interval '9 days', now() - interval '6 days'
FROM numbered WHERE defect = 21;
INSERT INTO one_time_codes (code_hash, kind, user_id, email, email_key, created_at, expires_at, consumed_at)
SELECT sha256(convert_to('code-' || n, 'UTF8')), 'PASSWORD_RESET', user_id, 'person-' || n || '@example.com',
    'person-' || n || '@example.com', now() - interval '60 days', now() - interval '59 days', now() - interval '59 days'
FROM numbered WHERE defect = 22;
UPDATE users SET email = 'paypal-' || n / 1000 || '@example.com' FROM numbered AS d
WHERE d.user_id = users.user_id AND defect = 23;
UPDATE users SET email = 'paypa1-' || n / 1000 || '@example.com' FROM numbered AS d
WHERE d.user_id = users.user_id AND defect = 24;
UPDATE linked_providers SET email = NULL, email_key = NULL FROM numbered AS d
WHERE d.user_id = linked_providers.user_id AND defect IN (23, 24);
UPDATE users SET unproven_phone_number = '+1666' || lpad((n / 1000)::text, 8, '0') FROM numbered AS d
WHERE d.user_id = users.user_id AND defect IN (25, 26);

INSERT INTO identifiers (kind, value, user_id)
SELECT 'email', email, user_id FROM users JOIN numbered USING (user_id) WHERE email IS NOT NULL AND defect <> 4
UNION ALL
SELECT 'phone', phone_number, user_id FROM users WHERE phone_number IS NOT NULL
UNION ALL
SELECT 'federated', provider_id || chr(31) || subject, user_id FROM linked_providers
UNION ALL
SELECT 'phone', '+1777' || lpad(n::text, 8, '0'), user_id FROM numbered WHERE defect = 5;

VACUUM (ANALYZE);
CHECKPOINT;
