INSERT INTO identifiers (kind, value, user_id, reserved_until)
VALUES ('email', 'ada@example.net', 'fixture-user', '2026-02-01 03:04:05+00');
