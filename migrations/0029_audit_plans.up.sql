-- Plans of audits that were applied (`concord audit apply`), and what became of each step. What a step changed stands in
-- account_journal, under the plan's id and the step's number.
CREATE TABLE audit_plans (
    plan_id     uuid        PRIMARY KEY,
    -- When the accounts were looked at.
    made_at     timestamptz NOT NULL,
    began_at    timestamptz NOT NULL,
    -- When it was last applied to the end, and how many steps were left out by then.
    finished_at timestamptz,
    steps       integer     NOT NULL CHECK (steps >= 0),
    skipped     integer     CHECK (skipped >= 0),
    kept_until  timestamptz NOT NULL,
    CHECK ((finished_at IS NULL) = (skipped IS NULL))
);

CREATE INDEX audit_plans_by_end ON audit_plans (kept_until);

-- A step that was applied. The row is written by the transaction that applies it, so that no step is applied twice.
CREATE TABLE audit_steps (
    plan_id          uuid        NOT NULL REFERENCES audit_plans ON DELETE CASCADE,
    step             integer     NOT NULL CHECK (step >= 1),
    tenant_id        text        COLLATE "C" NOT NULL,
    user_id          text        COLLATE "C" NOT NULL CHECK (length(user_id) BETWEEN 1 AND 128),
    -- The rule of the audit.
    rule             text        COLLATE "C" NOT NULL CHECK (rule ~ '^[a-z-]{1,64}$'),
    -- Of the account, as the step left it; NULL where there is none.
    version          bigint      CHECK (version >= 1),
    -- The method that it took off, of which receivers of webhooks are told when it is back.
    suspended_method text        COLLATE "C",
    -- Rows that named no account are not taken back by the database.
    can_undo         boolean     NOT NULL,
    applied_at       timestamptz NOT NULL,
    undone_at        timestamptz,
    kept_until       timestamptz NOT NULL,
    PRIMARY KEY (plan_id, step),
    CHECK (can_undo OR undone_at IS NULL)
);

CREATE INDEX audit_steps_by_user ON audit_steps (plan_id, tenant_id, user_id);
CREATE INDEX audit_steps_by_end ON audit_steps (kept_until);
