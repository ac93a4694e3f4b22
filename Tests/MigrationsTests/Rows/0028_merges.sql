INSERT INTO merges (merge_id, survivor_id, absorbed_id, state, choices, asked_by, reason, survivor_version,
    absorbed_version, prepared_at, deadline_at, ended_at, undo_until)
VALUES ('00112233-4455-7677-8899-aabbccddeeff', 'ada', 'bob', 'committed', '{"email": "survivor"}', 'administrator',
    'the same person', 3, 4, '2026-01-02 03:04:05+00', '2026-01-02 03:05:05+00', '2026-01-02 03:04:06+00',
    '2026-02-01 03:04:06+00');
