-- In one transaction: a server of an earlier version is not ready while a migration outside of one runs.
CREATE INDEX conflicts_by_time ON conflicts (tenant_id, opened_at, user_id, conflict_id);
