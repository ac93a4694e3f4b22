INSERT INTO provider_configs (provider_id, enabled, display_name, client_id, sealed_client_secret, issuer, created_at,
                              updated_at)
VALUES ('oidc.fixture', true, 'Fixture', 'fixture-client', '\x07', 'https://issuer.example.com',
        '2026-01-02 03:04:05+00', '2026-01-02 03:04:05+00');
