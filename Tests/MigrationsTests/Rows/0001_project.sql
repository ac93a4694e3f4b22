INSERT INTO project_config (project_id, project_number, created_at, updated_at)
VALUES ('demo-concord', 123456789012, '2026-01-02 03:04:05+00', '2026-01-02 03:04:05+00');

INSERT INTO api_keys (api_key, display_name, created_at)
VALUES ('fixture-api-key', 'web', '2026-01-02 03:04:05+00');

INSERT INTO signing_keys (key_id, purpose, generation, algorithm, sealed_private_key, certificate, created_at, signs_from)
VALUES ('fixture-key', 'id-token', 1, 'ES256', '\x01', '\x02', '2026-01-02 03:04:05+00', '2026-01-02 03:09:05+00');
