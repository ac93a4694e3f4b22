INSERT INTO conflict_returns (user_id, conflict_id, continue_url, state, code_challenge, session_id, code_hash,
    code_ends_at, attempts, given_session)
VALUES ('fixture-user', decode(repeat('03', 16), 'hex'), 'https://app.example.com/back', 'state-45',
    decode(repeat('45', 32), 'hex'), decode(repeat('46', 16), 'hex'), decode(repeat('47', 32), 'hex'),
    '2026-01-02 03:05:05+00', 1, decode(repeat('48', 16), 'hex'));
