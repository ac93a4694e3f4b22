-- migrate: no-transaction
-- The issuers of a provider's identities. Equal issuers share an index entry, so a row costs 7 bytes.
CREATE INDEX CONCURRENTLY linked_providers_by_issuer ON linked_providers (tenant_id, provider_id, issuer)
    WHERE issuer IS NOT NULL;
