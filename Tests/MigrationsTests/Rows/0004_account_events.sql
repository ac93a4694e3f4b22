INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule, details)
VALUES ('fixture-user', '00000000-0000-4000-8000-000000000001', '2026-01-02 03:04:05+00', 'sign-up', 'P1',
        '{"changed": ["email"]}');
