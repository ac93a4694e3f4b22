INSERT INTO one_time_codes (code_hash, kind, user_id, email, email_key, address_was_proven, created_at, expires_at)
VALUES (decode(repeat('38', 32), 'hex'), 'REVERT_SIGN_IN_METHOD_CHANGE', 'fixture-user', 'ann@example.com',
    'ann@example.com', true, '2026-01-02 03:04:05+00', '2026-01-05 03:04:05+00');
INSERT INTO code_methods (code_hash, method, was_there, password_hash, proof, proven_at)
VALUES (decode(repeat('38', 32), 'hex'), 'password', true, '$argon2id$fixture', 'sign-up', '2025-01-02 03:04:05+00');
INSERT INTO code_methods (code_hash, method, was_there, subject, issuer, email, display_name, photo_url, screen_name,
    linked_at, updated_at, proof, proven_at)
VALUES (decode(repeat('38', 32), 'hex'), 'google.com', true, 'subject-38', 'https://accounts.google.com',
    'ann@example.com', 'Ann', 'https://example.com/ann.png', 'ann', '2025-01-02 03:04:05+00', '2025-01-02 03:04:05+00',
    'provider-credential', '2025-01-02 03:04:05+00');
INSERT INTO code_methods (code_hash, method, was_there)
VALUES (decode(repeat('38', 32), 'hex'), 'phone', false);
