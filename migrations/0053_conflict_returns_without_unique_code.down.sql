-- migrate: no-transaction
CREATE UNIQUE INDEX CONCURRENTLY conflict_returns_by_code ON conflict_returns (tenant_id, code_hash)
    WHERE code_hash IS NOT NULL;
