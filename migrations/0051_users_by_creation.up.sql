-- migrate: no-transaction
-- Pages of accounts by creation time, at any number of accounts. No lookup can use the index: a plan that PostgreSQL
-- makes for an empty table could otherwise search all of it for an account's id.
CREATE INDEX CONCURRENTLY users_by_creation ON users (created_at) INCLUDE (tenant_id);
