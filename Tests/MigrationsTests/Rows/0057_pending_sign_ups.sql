INSERT INTO pending_sign_ups (sign_up_digest, email, link_hash, sealed_code, sealed_credential, created_at, expires_at)
VALUES (decode(repeat('27', 32), 'hex'), 'ann@example.com', decode(repeat('28', 32), 'hex'), '\x29', '\x2a',
    '2026-01-02 03:04:05+00', '2026-01-02 04:04:05+00');
