-- Copies the events of every month back into one table. Also undoes an interrupted up file.
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_partitioned_table WHERE partrelid = 'account_events'::regclass) THEN
        ALTER TABLE account_events DETACH PARTITION account_events_past;
        ALTER TABLE account_events RENAME TO account_events_by_month;
        INSERT INTO account_events_past SELECT * FROM account_events_by_month;
        DROP TABLE account_events_by_month;
        ALTER TABLE account_events_past RENAME TO account_events;
        ALTER INDEX account_events_past_pkey RENAME TO account_events_pkey;
        ALTER INDEX account_events_past_by_id RENAME TO account_events_by_id;
    ELSE
        ALTER TABLE account_events DROP CONSTRAINT IF EXISTS account_events_past_bound;
        IF to_regclass('account_events_default') IS NOT NULL THEN
            INSERT INTO account_events SELECT * FROM account_events_default;
            DROP TABLE account_events_default;
        END IF;
    END IF;
END $$;
