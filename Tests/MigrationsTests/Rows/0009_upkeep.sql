INSERT INTO password_attempts (address_digest, failures, locked_until, forgotten_at)
VALUES (decode(repeat('05', 32), 'hex'), 11, '2026-01-02 03:06:05+00', '2026-02-01 03:04:05+00');
