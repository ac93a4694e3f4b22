-- Sessions that are listed, ended one by one, and end by the project's lifetimes; refused sign-ins, counted by day.

ALTER TABLE sessions
    -- When the session last refreshed, up to a day too early; NULL: not since it began.
    ADD COLUMN last_used_at timestamptz,
    -- When the user signed in, where the session goes on from an earlier one without a new sign-in; NULL: when it began.
    ADD COLUMN lifetime_start timestamptz,
    -- What signed in, as it says itself (User-Agent).
    ADD COLUMN device text,
    -- Not validated, which would read the whole table: no row has a device yet.
    ADD CONSTRAINT sessions_device_check CHECK (length(device) BETWEEN 1 AND 200) NOT VALID;

-- When sessions of the account were last ended that others outlived. ID tokens from before are compared with their sessions.
ALTER TABLE users ADD COLUMN session_ended_at timestamptz;

-- One row for each account, day and reason, however many sign-ins were refused.
CREATE TABLE sign_in_refusals (
    tenant_id text        COLLATE "C" NOT NULL DEFAULT '',
    user_id   text        COLLATE "C" NOT NULL,
    -- Days since 1970-01-01, in UTC.
    day       integer     NOT NULL,
    -- The row of the decision tables that refused, such as 'S4', or what was wrong with a second factor.
    reason    text        COLLATE "C" NOT NULL CHECK (length(reason) BETWEEN 1 AND 32),
    count     bigint      NOT NULL CHECK (count > 0),
    first_at  timestamptz NOT NULL,
    last_at   timestamptz NOT NULL CHECK (last_at >= first_at),
    PRIMARY KEY (tenant_id, user_id, day, reason),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE
);

CREATE INDEX sign_in_refusals_by_day ON sign_in_refusals (day);
