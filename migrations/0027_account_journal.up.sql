-- What rows of accounts were and became, for changes that can be undone: an administrator's, in steps. Written in the
-- transaction of the change; gone once it is undone, or can be no more.
CREATE TABLE account_journal (
    tenant_id  text        COLLATE "C" NOT NULL DEFAULT '',
    change_id  uuid        NOT NULL,
    step       integer     NOT NULL CHECK (step >= 0),
    table_name text        COLLATE "C" NOT NULL CHECK (table_name ~ '^[a-z_]{1,63}$'),
    row_key    text        COLLATE "C" NOT NULL,
    -- NULL: the change made the row.
    before     jsonb,
    -- NULL: the change deleted it.
    after      jsonb,
    kept_until timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, change_id, step, table_name, row_key)
);

CREATE INDEX account_journal_by_end ON account_journal (kept_until);
