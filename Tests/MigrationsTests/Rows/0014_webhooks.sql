INSERT INTO webhook_endpoints (endpoint_id, slot, url, sealed_secret, created_at)
VALUES ('00000000-0000-4000-8000-000000000012', 1, 'https://receiver.example.com/hooks', '\x09', '2026-01-02 03:04:05+00');
INSERT INTO webhook_messages (endpoint_id, user_id, message_id, type, occurred_at, method, rule, next_attempt_at)
VALUES ('00000000-0000-4000-8000-000000000012', 'fixture-user', '00000000-0000-4000-8000-000000000013',
    'method.linked', '2026-01-02 03:04:05+00', 'google.com', 'L4', '2026-01-02 03:04:05+00');
