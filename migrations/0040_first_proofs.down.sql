ALTER TABLE one_time_codes DROP COLUMN asked_auth_time;
