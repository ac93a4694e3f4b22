\set n random(1, 9000000000000000000)
BEGIN;
INSERT INTO users (tenant_id, user_id, version, session_epoch,
    email, email_proof, email_proven_at, initial_email, phone_number, unproven_phone_number,
    display_name, photo_url, screen_name, language, time_zone, date_of_birth,
    disabled, uses_custom_tokens, custom_attributes, valid_since, created_at, last_login_at, last_refresh_at)
VALUES ('', 'baseline-' || :n, 1, :n, 'b-' || :n || '@example.com', NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, false, NULL, date_trunc('second', now()), now(), now(), now());
SELECT 1 / (count(*) = 0)::integer FROM merges
WHERE tenant_id = '' AND state = 'committed' AND absorbed_id = 'baseline-' || :n;
INSERT INTO identifiers (tenant_id, kind, value, user_id)
VALUES ('', 'email', 'b-' || :n || '@example.com', 'baseline-' || :n);
INSERT INTO password_credentials (tenant_id, user_id, hash, updated_at)
VALUES ('', 'baseline-' || :n, :hash, now())
ON CONFLICT (tenant_id, user_id) DO UPDATE SET hash = excluded.hash, updated_at = excluded.updated_at;
INSERT INTO sign_in_methods (tenant_id, user_id, method, proof, proven_at)
VALUES ('', 'baseline-' || :n, 'password', 'sign-up', now())
ON CONFLICT (tenant_id, user_id, method) DO UPDATE SET proof = excluded.proof, proven_at = excluded.proven_at;
INSERT INTO sessions (tenant_id, user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider,
    second_factor, second_factor_id, session_claims, sign_in_attributes)
VALUES ('', 'baseline-' || :n, decode(lpad(to_hex(:n::bigint), 32, '0'), 'hex'),
    decode(lpad(to_hex(:n::bigint), 64, '0'), 'hex'), :n, now(), 'password', NULL, NULL, NULL, NULL);
DELETE FROM password_sources
WHERE tenant_id = '' AND address_digest = sha256(convert_to('b-' || :n || '@example.com', 'UTF8'));
DELETE FROM password_attempts
WHERE tenant_id = '' AND address_digest = sha256(convert_to('b-' || :n || '@example.com', 'UTF8'));
INSERT INTO account_events (tenant_id, user_id, event_id, occurred_at, kind, rule, details)
VALUES ('', 'baseline-' || :n, lpad(to_hex(:n::bigint), 32, '0')::uuid, now(), 'user-created', 'P11', NULL);
COMMIT;
