INSERT INTO account_journal (change_id, step, table_name, row_key, before, after, kept_until)
VALUES ('00000000-0000-4000-8000-000000000027', 1, 'password_credentials', 'fixture-user',
    '{"user_id": "fixture-user", "hash": "x"}', NULL, '2026-02-02 03:04:05+00');
