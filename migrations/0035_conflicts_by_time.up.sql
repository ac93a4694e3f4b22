-- migrate: no-transaction
CREATE INDEX CONCURRENTLY conflicts_by_time ON conflicts (tenant_id, opened_at, user_id, conflict_id);
