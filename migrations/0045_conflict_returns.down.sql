DROP TABLE conflict_returns;
