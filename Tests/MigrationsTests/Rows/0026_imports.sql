INSERT INTO hash_keys (slot, key_id, sealed_key, created_at)
VALUES (1, '00112233445566ff', '\x36', '2026-01-02 03:04:05+00');
