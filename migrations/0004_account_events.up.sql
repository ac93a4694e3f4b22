-- What was decided, in the transaction that applied it. Append-only; outlives the user, hence no foreign key.

CREATE TABLE account_events (
    tenant_id   text        COLLATE "C" NOT NULL DEFAULT '',
    user_id     text        COLLATE "C" NOT NULL,
    -- Made before the transaction, so that an unknown commit can be looked up.
    event_id    uuid        NOT NULL,
    occurred_at timestamptz NOT NULL,
    kind        text        COLLATE "C" NOT NULL,
    -- The row of the decision tables that fired, such as 'I7'.
    rule        text        COLLATE "C" NOT NULL,
    -- What changed, by name; never a credential, an address or a number.
    details     jsonb,
    PRIMARY KEY (tenant_id, user_id, event_id)
);
