ALTER TABLE sessions DROP COLUMN used_day;

DROP TABLE duties;
