INSERT INTO service_accounts (key_id, email, public_key, created_at)
VALUES ('fixture-key', 'fixture@demo-test.iam.gserviceaccount.com', '\x08', '2026-01-02 03:04:05+00');
