INSERT INTO duties (duty, holder, held_until)
VALUES ('purge', '0102030405060708090a0b0c0d0e0f10', '2026-01-02 03:04:05+00');
