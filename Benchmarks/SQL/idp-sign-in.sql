\set user random(1, :linked)
\set n random(1, 9000000000000000000)
BEGIN;
INSERT INTO sessions (tenant_id, user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider,
    second_factor, second_factor_id, session_claims, sign_in_attributes, started_at, lifetime_start, device)
VALUES ('', left(encode(sha256(convert_to('user-' || :user, 'UTF8')), 'hex'), 28),
    decode(lpad(to_hex(:n::bigint), 32, '0'), 'hex'), decode(lpad(to_hex(:n::bigint), 64, '0'), 'hex'), :user, now(),
    'oidc.bench', NULL, NULL, NULL,
    '{"email": "user-1@example.com", "email_verified": true, "name": "User 1"}', NULL, NULL, NULL);
INSERT INTO used_id_tokens (tenant_id, user_id, token_digest, expires_at)
VALUES ('', left(encode(sha256(convert_to('user-' || :user, 'UTF8')), 'hex'), 28),
    decode(lpad(to_hex(:n::bigint), 64, '0'), 'hex'), now() + interval '1 hour')
ON CONFLICT DO NOTHING;
INSERT INTO account_events (tenant_id, user_id, event_id, occurred_at, kind, rule, details, policy_version, decisions)
VALUES ('', left(encode(sha256(convert_to('user-' || :user, 'UTF8')), 'hex'), 28),
    lpad(to_hex(:n::bigint), 32, '0')::uuid, now(), 'signed-in', 'I2', NULL, 1, NULL);
UPDATE users SET last_login_at = greatest(last_login_at, now()), last_refresh_at = greatest(last_refresh_at, now())
WHERE tenant_id = '' AND user_id = left(encode(sha256(convert_to('user-' || :user, 'UTF8')), 'hex'), 28);
COMMIT;
