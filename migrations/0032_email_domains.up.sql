-- The domains whose mailboxes an oidc.* provider gives out, in the canonical form of an address: its word about an address
-- there is proof.

ALTER TABLE provider_configs ADD COLUMN email_domains text[] NOT NULL DEFAULT '{}'
    CHECK (cardinality(email_domains) <= 100 AND length(email_domains::text) <= 32768
        AND array_position(email_domains, NULL) IS NULL
        AND (cardinality(email_domains) = 0 OR provider_id LIKE 'oidc.%'));
