INSERT INTO project_config_versions (version, settings, changed_at)
VALUES (99, '{"signIn": {"anonymous": {"enabled": true}}}', '2026-01-02 03:04:05+00');
UPDATE account_events SET policy_version = 99, decisions = '[{"question": "sign-in-with-idp"}]'
WHERE user_id = 'fixture-user';
