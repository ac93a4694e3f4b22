-- migrate: no-transaction
DROP INDEX CONCURRENTLY IF EXISTS conflict_returns_of_code;
