INSERT INTO password_sources
    (address_digest, source_digest, failures, locked_until, forgotten_at, known_epoch, known_until)
VALUES (decode(repeat('05', 32), 'hex'), decode(repeat('54', 32), 'hex'), 0, '2026-01-02 03:04:05+00',
    '2026-01-02 03:04:05+00', 7, '2026-02-01 03:04:05+00');
