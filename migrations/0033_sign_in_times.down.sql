ALTER TABLE sessions DROP COLUMN started_at;

DROP TABLE used_id_tokens;
