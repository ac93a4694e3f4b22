INSERT INTO devices (user_id, device_id, slot, session_epoch, name, created_at, last_used_at, expires_at)
VALUES ('fixture-user', decode(repeat('56', 32), 'hex'), 3, 7, 'Phone/1.0', '2026-01-02 03:04:05+00',
    '2026-01-03 03:04:05+00', '2026-04-03 03:04:05+00');
