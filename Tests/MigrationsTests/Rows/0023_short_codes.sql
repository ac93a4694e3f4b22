INSERT INTO short_codes (kind, email_key, code_hash, sealed_code, expires_at)
VALUES ('PASSWORD_RESET', 'ada@example.com', decode(repeat('31', 32), 'hex'), '\x32', '2026-01-02 04:04:05+00');
