-- migrate: no-transaction
DROP INDEX CONCURRENTLY IF EXISTS users_by_creation;
