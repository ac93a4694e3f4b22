INSERT INTO one_time_codes (code_hash, kind, user_id, session_epoch, email, email_key, new_email, created_at, expires_at)
VALUES (decode(repeat('03', 32), 'hex'), 'VERIFY_AND_CHANGE_EMAIL', 'fixture-user', 7, 'Ada@example.com',
        'ada@example.com', 'ada@example.org', '2026-01-02 03:04:05+00', '2026-01-05 03:04:05+00');
INSERT INTO outbox (message_id, kind, sealed_payload, created_at, expires_at, next_attempt_at)
VALUES ('00000000-0000-4000-8000-000000000002', 'mail', decode('0401', 'hex'), '2026-01-02 03:04:05+00',
        '2026-01-05 03:04:05+00', '2026-01-02 03:04:05+00');
