INSERT INTO second_factors (user_id, enrollment_id, slot, number, display_name, enrolled_at)
VALUES ('fixture-user', 'factor-1', 1, '+16505553434', 'mine', '2026-01-02 03:04:05+00');
INSERT INTO second_factors (user_id, enrollment_id, slot, sealed_secret, last_step, accepted_by, enrolled_at)
VALUES ('fixture-user', 'factor-2', 2, '\x31', 58912345, '00000000-0000-7000-8000-000000000032', '2026-01-02 03:04:05+00');
INSERT INTO factor_challenges (user_id, challenge_id, purpose, session_epoch, sealed_content, created_at, expires_at)
VALUES ('fixture-user', decode(repeat('33', 16), 'hex'), 'sign-in', 7, '\x34', '2026-01-02 03:04:05+00',
    '2026-01-02 03:19:05+00');
INSERT INTO one_time_codes (code_hash, kind, user_id, email, email_key, second_factor_id, created_at, expires_at)
VALUES (decode(repeat('35', 32), 'hex'), 'REVERT_SECOND_FACTOR_ADDITION', 'fixture-user', 'ann@example.com',
    'ann@example.com', 'factor-1', '2026-01-02 03:04:05+00', '2026-01-09 03:04:05+00');
