INSERT INTO provider_configs (provider_id, enabled, client_id, issuer, email_domains, created_at, updated_at)
VALUES ('oidc.domains', true, 'fixture-client', 'https://issuer.example.com', '{corp.example,xn--bcher-kva.example}',
        '2026-01-02 03:04:05+00', '2026-01-02 03:04:05+00')
ON CONFLICT (tenant_id, provider_id) DO UPDATE SET email_domains = excluded.email_domains;
