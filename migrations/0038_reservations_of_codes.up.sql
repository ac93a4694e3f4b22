-- The addresses of the codes that are out already; if several accounts gave one up, that of the one that had proven it, or of the
-- last code.
INSERT INTO identifiers (tenant_id, kind, value, user_id, reserved_until)
SELECT DISTINCT ON (tenant_id, email_key) tenant_id, 'email', email_key, user_id,
    max(expires_at) OVER (PARTITION BY tenant_id, email_key, user_id)
FROM one_time_codes
WHERE kind = 'RECOVER_EMAIL' AND consumed_at IS NULL AND expires_at > now()
ORDER BY tenant_id, email_key, address_was_proven DESC, expires_at DESC, user_id
ON CONFLICT DO NOTHING;
