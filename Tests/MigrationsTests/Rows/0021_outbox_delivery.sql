INSERT INTO outbox (message_id, kind, sealed_payload, created_at, expires_at, state, attempts, next_attempt_at, reason)
VALUES ('00000000-0000-4000-8000-000000000021', 'sms', '\x27', '2026-01-02 03:04:05+00', '2026-01-05 03:04:05+00',
        'failed', 3, '2026-01-03 03:04:05+00', '550 5.1.1')
ON CONFLICT DO NOTHING;
