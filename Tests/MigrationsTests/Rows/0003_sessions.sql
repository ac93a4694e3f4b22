INSERT INTO sessions (user_id, session_id, secret_hash, session_epoch, auth_time, sign_in_provider)
VALUES ('fixture-user', decode(repeat('01', 16), 'hex'), decode(repeat('02', 32), 'hex'), 7, '2026-01-02 03:04:05+00',
        'password');
