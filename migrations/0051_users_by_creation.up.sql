-- migrate: no-transaction
-- Pages of accounts by creation time, at any number of accounts.
CREATE INDEX CONCURRENTLY users_by_creation ON users (tenant_id, created_at, user_id);
