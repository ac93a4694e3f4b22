INSERT INTO quarantined_methods (user_id, method, password_hash, event_id, rule, quarantined_at, expires_at)
VALUES ('fixture-user', 'password', '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaA',
    '00000000-0000-4000-8000-000000000014', 'I9', '2026-01-02 03:04:05+00', '2026-02-02 03:04:05+00');
