-- The index of the codes is no longer unique: Citus accepts a unique index only with the column that names the shard. The
-- column holds the SHA-256 of a random secret, so two rows never have the same one.

DROP INDEX conflict_returns_by_code;
CREATE INDEX conflict_returns_by_code ON conflict_returns (tenant_id, code_hash) WHERE code_hash IS NOT NULL;
