DROP INDEX conflict_returns_by_code;
