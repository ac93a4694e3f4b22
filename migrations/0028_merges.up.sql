-- Two accounts made one: what waits for the receivers of webhooks, what was done and can be undone, and where a uid went.

CREATE TABLE merges (
    tenant_id        text        COLLATE "C" NOT NULL DEFAULT '',
    merge_id         uuid        NOT NULL,
    -- The account that stays. No foreign key: what was done is told also when the account is gone.
    survivor_id      text        COLLATE "C" NOT NULL CHECK (length(survivor_id) BETWEEN 1 AND 128),
    -- The account that goes.
    absorbed_id      text        COLLATE "C" NOT NULL CHECK (length(absorbed_id) BETWEEN 1 AND 128),
    state            text        COLLATE "C" NOT NULL DEFAULT 'prepared'
        CHECK (state IN ('prepared', 'committed', 'aborted', 'undone')),
    -- Whose of what is taken, where both have it: names of fields and of sides.
    choices          jsonb       NOT NULL CHECK (jsonb_typeof(choices) = 'object'),
    asked_by         text        COLLATE "C" NOT NULL CHECK (asked_by IN ('administrator', 'owners')),
    -- An administrator's.
    reason           text        CHECK (length(reason) BETWEEN 1 AND 500),
    -- Those that were seen when it was prepared.
    survivor_version bigint      NOT NULL,
    absorbed_version bigint      NOT NULL,
    prepared_at      timestamptz NOT NULL,
    -- Until when the receivers of webhooks have to have said yes.
    deadline_at      timestamptz NOT NULL CHECK (deadline_at >= prepared_at),
    -- Committed or aborted.
    ended_at         timestamptz,
    abort_reason     text        COLLATE "C"
        CHECK (abort_reason IN ('vetoed', 'timed-out', 'accounts-changed', 'withdrawn')),
    undo_until       timestamptz,
    undone_at        timestamptz,
    PRIMARY KEY (tenant_id, merge_id),
    CHECK (survivor_id <> absorbed_id),
    CHECK ((asked_by = 'administrator') = (reason IS NOT NULL)),
    CONSTRAINT merges_ended_check CHECK ((state = 'prepared') = (ended_at IS NULL)),
    CONSTRAINT merges_aborted_check CHECK ((state = 'aborted') = (abort_reason IS NOT NULL)),
    CONSTRAINT merges_committed_check CHECK ((state IN ('committed', 'undone')) = (undo_until IS NOT NULL)),
    CONSTRAINT merges_undone_check CHECK ((state = 'undone') = (undone_at IS NOT NULL))
);

-- What answers for a uid that is another account now; kept for good.
CREATE UNIQUE INDEX merges_tombstone ON merges (tenant_id, absorbed_id) WHERE state = 'committed';

-- An account is in one merge at a time. That it is not the survivor of one and goes in another, nobody but the statement
-- that prepares them can see, which holds the rows of both accounts.
CREATE UNIQUE INDEX merges_live_survivor ON merges (tenant_id, survivor_id) WHERE state = 'prepared';
CREATE UNIQUE INDEX merges_live_absorbed ON merges (tenant_id, absorbed_id) WHERE state = 'prepared';

CREATE INDEX merges_by_survivor ON merges (tenant_id, survivor_id, prepared_at);
CREATE INDEX merges_by_absorbed ON merges (tenant_id, absorbed_id, prepared_at);
CREATE INDEX merges_waiting ON merges (prepared_at) WHERE state = 'prepared';
CREATE INDEX merges_over ON merges (ended_at) WHERE state IN ('aborted', 'undone');

-- What receivers are told of a merge; the answers to its first message say whether it may be.
ALTER TABLE webhook_messages
    ADD COLUMN merge_id uuid,
    ADD COLUMN merged_user_id text COLLATE "C",
    ADD CONSTRAINT webhook_messages_merge_check CHECK ((merge_id IS NULL) = (merged_user_id IS NULL));
CREATE INDEX webhook_messages_of_merge ON webhook_messages (merge_id) WHERE merge_id IS NOT NULL;
