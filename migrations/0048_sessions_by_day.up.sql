-- migrate: no-transaction
CREATE INDEX CONCURRENTLY sessions_by_used_day ON sessions (used_day);
