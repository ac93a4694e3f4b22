DELETE FROM outbox;
