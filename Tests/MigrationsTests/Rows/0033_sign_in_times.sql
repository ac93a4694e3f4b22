INSERT INTO used_id_tokens (user_id, token_digest, expires_at)
SELECT user_id, decode(repeat('32', 32), 'hex'), '2026-01-02 04:04:05+00' FROM users ORDER BY user_id LIMIT 1;
