-- migrate: no-transaction
-- Events are stored by month, so that a month that is past the retention is dropped, not deleted row by row.
--
-- The table becomes the first partition: no row is copied, and the scan that PostgreSQL needs runs beside writers. Two
-- steps take an exclusive lock, each for an instant. They are separate transactions, hence one statement outside of a
-- transaction. The servers create the months (docs/internals/adr/0108-account-events.md).
DO $$
DECLARE
    bound    text := '019b76da-a800-0000-0000-000000000000';
    attempts integer := 0;
BEGIN
    -- An event id begins with its time in milliseconds. The first partition ends a month or more from now, so that the
    -- constraint refuses no event meanwhile; in a new database, in 2026.
    IF EXISTS (SELECT 1 FROM account_events) THEN
        bound := lpad(to_hex((1000 * extract(
            epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months'
        ))::bigint), 12, '0') || repeat('0', 20);
    END IF;
    LOOP
        BEGIN
            -- Writers wait at most this long behind an attempt, and go on during the pause.
            PERFORM set_config('lock_timeout', '200ms', true);
            EXECUTE format(
                'ALTER TABLE account_events ADD CONSTRAINT account_events_past_bound CHECK (event_id < %L) NOT VALID',
                bound
            );
            -- Catches events of a month without partition, so that a missing partition refuses no request.
            CREATE TABLE account_events_default (LIKE account_events INCLUDING ALL EXCLUDING CONSTRAINTS);
            ALTER TABLE account_events_default
                ADD CONSTRAINT account_events_decisions_check CHECK (jsonb_typeof(decisions) = 'array'),
                ADD CONSTRAINT account_events_decisions_have_policy
                    CHECK (decisions IS NULL OR policy_version IS NOT NULL);
            -- Events from a server whose clock was ahead.
            WITH ahead AS (DELETE FROM account_events WHERE event_id >= bound::uuid RETURNING *)
            INSERT INTO account_events_default SELECT * FROM ahead;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            attempts := attempts + 1;
            IF attempts = 300 THEN RAISE; END IF;
        END;
        PERFORM pg_sleep(1);
    END LOOP;
    COMMIT;

    -- Reads the table. Reads and writes go on.
    ALTER TABLE account_events VALIDATE CONSTRAINT account_events_past_bound;
    COMMIT;

    LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '200ms', true);
            ALTER TABLE account_events RENAME TO account_events_past;
            ALTER INDEX account_events_pkey RENAME TO account_events_past_pkey;
            ALTER INDEX account_events_by_id RENAME TO account_events_past_by_id;
            CREATE TABLE account_events (
                tenant_id      text        COLLATE "C" NOT NULL DEFAULT '',
                user_id        text        COLLATE "C" NOT NULL,
                event_id       uuid        NOT NULL,
                occurred_at    timestamptz NOT NULL,
                kind           text        COLLATE "C" NOT NULL,
                rule           text        COLLATE "C" NOT NULL,
                details        jsonb,
                policy_version bigint,
                decisions      jsonb,
                CONSTRAINT account_events_decisions_check CHECK (jsonb_typeof(decisions) = 'array'),
                CONSTRAINT account_events_decisions_have_policy
                    CHECK (decisions IS NULL OR policy_version IS NOT NULL),
                PRIMARY KEY (tenant_id, user_id, event_id)
            ) PARTITION BY RANGE (event_id);
            CREATE INDEX account_events_by_id ON account_events (event_id);
            EXECUTE format(
                'ALTER TABLE account_events ATTACH PARTITION account_events_past FOR VALUES FROM (MINVALUE) TO (%L)',
                bound
            );
            ALTER TABLE account_events ATTACH PARTITION account_events_default DEFAULT;
            ALTER TABLE account_events_past DROP CONSTRAINT account_events_past_bound;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            attempts := attempts + 1;
            IF attempts = 300 THEN RAISE; END IF;
        END;
        PERFORM pg_sleep(1);
    END LOOP;
END $$;
