-- An address that its account has given up, and that a mailed code can bring back (RECOVER_EMAIL), stays claimed for the account
-- until the code ends. It is the same row as the claim on an address that an account has, so the primary key admits one of them.

ALTER TABLE identifiers
    -- NULL: the account has it. Otherwise it has not, and nobody else may until then, as long as the code lives.
    ADD COLUMN reserved_until timestamptz,
    ADD CONSTRAINT identifiers_reserved_check CHECK (reserved_until IS NULL OR kind = 'email');

CREATE INDEX identifiers_reserved ON identifiers (reserved_until) WHERE reserved_until IS NOT NULL;

-- The addresses of the codes that are out already; if several accounts gave one up, that of the one that had proven it, or of the
-- last code.
INSERT INTO identifiers (tenant_id, kind, value, user_id, reserved_until)
SELECT DISTINCT ON (tenant_id, email_key) tenant_id, 'email', email_key, user_id,
    max(expires_at) OVER (PARTITION BY tenant_id, email_key, user_id)
FROM one_time_codes
WHERE kind = 'RECOVER_EMAIL' AND consumed_at IS NULL AND expires_at > now()
ORDER BY tenant_id, email_key, address_was_proven DESC, expires_at DESC, user_id
ON CONFLICT DO NOTHING;
