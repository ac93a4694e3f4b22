-- migrate: no-transaction
-- Replaces the unique index of the codes, which the next migration drops: Citus accepts a unique index only with the
-- column that names the shard. The column holds the SHA-256 of a random secret, so two rows never have the same one.
CREATE INDEX CONCURRENTLY conflict_returns_of_code ON conflict_returns (tenant_id, code_hash)
    WHERE code_hash IS NOT NULL;
