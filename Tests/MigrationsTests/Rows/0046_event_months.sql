INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule, policy_version)
VALUES ('fixture-user', 'ffffffff-0000-7000-8000-000000000001', '2026-01-02 03:04:05+00', 'user-created', 'P11', 99)
ON CONFLICT DO NOTHING;
