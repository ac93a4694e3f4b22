INSERT INTO kept_answers (user_id, key_digest, sealed_answer, expires_at)
VALUES ('fixture-user', decode(repeat('21', 32), 'hex'), '\x23', '2026-01-02 03:04:05+00');
