INSERT INTO phone_verifications (verification_id, session_digests, purpose, number, sealed_code, is_current, created_at,
    expires_at)
VALUES (decode(repeat('27', 16), 'hex'), ARRAY[decode(repeat('28', 32), 'hex')], 'sign-in', '+16505553434', '\x29', true,
    '2026-01-02 03:04:05+00', '2026-01-02 03:14:05+00');
INSERT INTO message_counts (count_digest, messages, ends_at)
VALUES (decode(repeat('30', 32), 'hex'), 1, '2026-01-02 04:04:05+00');
