DROP TABLE outbox;
DROP TABLE one_time_codes;
