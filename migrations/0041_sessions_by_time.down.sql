DROP TABLE sign_in_refusals;

ALTER TABLE users DROP COLUMN session_ended_at;

ALTER TABLE sessions
    DROP COLUMN device,
    DROP COLUMN lifetime_start,
    DROP COLUMN last_used_at;
