INSERT INTO proof_mails (user_id, place, free_at) VALUES ('fixture-user', 1, '2026-01-02 04:04:05+00');
