UPDATE sessions SET last_used_at = '2026-01-03 03:04:05+00', lifetime_start = '2026-01-01 03:04:05+00', device = 'Mozilla/5.0';
UPDATE users SET session_ended_at = '2026-01-03 03:04:05+00';
INSERT INTO sign_in_refusals (user_id, day, reason, count, first_at, last_at)
SELECT user_id, 20455, 'S4', 3, '2026-01-02 03:04:05+00', '2026-01-02 04:04:05+00' FROM users ORDER BY user_id LIMIT 1;
