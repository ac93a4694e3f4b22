-- migrate: no-transaction
-- Pages of a tenant's accounts by creation time, and their count, at any number of accounts and tenants. The index
-- begins with an expression, so that no lookup can use it: a plan that PostgreSQL makes for an empty table could
-- otherwise search all of it for an account's id.
CREATE INDEX CONCURRENTLY users_by_creation ON users ((tenant_id || ''), created_at, user_id);
