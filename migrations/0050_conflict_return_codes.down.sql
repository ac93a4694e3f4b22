DROP INDEX conflict_returns_by_code;
CREATE UNIQUE INDEX conflict_returns_by_code ON conflict_returns (tenant_id, code_hash) WHERE code_hash IS NOT NULL;
