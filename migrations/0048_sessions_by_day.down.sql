-- migrate: no-transaction
DROP INDEX CONCURRENTLY IF EXISTS sessions_by_used_day;
