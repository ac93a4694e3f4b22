INSERT INTO one_time_codes (code_hash, kind, user_id, email, email_key, address_was_proven, created_at, expires_at)
VALUES (decode(repeat('36', 32), 'hex'), 'RECOVER_EMAIL', 'fixture-user', 'ann@example.com', 'ann@example.com', true,
    '2026-01-02 03:04:05+00', '2026-01-09 03:04:05+00')
ON CONFLICT DO NOTHING;
INSERT INTO outbox (message_id, kind, state, created_at, expires_at, next_attempt_at, is_withheld)
VALUES ('00000000-0000-4000-8000-000000000036', 'mail', 'withheld', '2026-01-02 03:04:05+00', '2026-01-05 03:04:05+00',
    '2026-01-02 03:04:05+00', true)
ON CONFLICT DO NOTHING;
