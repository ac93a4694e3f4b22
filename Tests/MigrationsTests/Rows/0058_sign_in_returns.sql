INSERT INTO sign_in_returns (user_id, session_id, continue_url, code_challenge, code_hash, code_ends_at, attempts,
    given_session)
VALUES ('fixture-user', decode(repeat('59', 16), 'hex'), 'https://app.example.com/back',
    decode(repeat('5a', 32), 'hex'), decode(repeat('5b', 32), 'hex'), '2026-01-02 03:05:05+00', 1,
    decode(repeat('5c', 16), 'hex'));
