INSERT INTO users (user_id, session_epoch, email, email_proof, email_proven_at, valid_since, created_at)
VALUES ('fixture-user', 7, 'Ada@example.com', 'link', '2026-01-02 03:04:05+00', '2026-01-02 03:04:05+00',
        '2026-01-02 03:04:05+00');

INSERT INTO identifiers (kind, value, user_id) VALUES ('email', 'ada@example.com', 'fixture-user');

INSERT INTO password_credentials (user_id, hash, updated_at)
VALUES ('fixture-user', '$argon2id$v=19$m=8,t=1,p=1$AAAA$BBBB', '2026-01-02 03:04:05+00');

INSERT INTO linked_providers (user_id, provider_id, subject, issuer, email, email_key, linked_at, updated_at)
VALUES ('fixture-user', 'google.com', '1234', 'https://accounts.google.com', 'Ada@example.com', 'ada@example.com',
        '2026-01-02 03:04:05+00', '2026-01-02 03:04:05+00');

INSERT INTO sign_in_methods (user_id, method, proof, proven_at)
VALUES ('fixture-user', 'password', 'set', '2026-01-02 03:04:05+00');
