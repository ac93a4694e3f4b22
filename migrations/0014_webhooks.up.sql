-- Webhooks: where events are sent, and the events on their way.

CREATE TABLE webhook_endpoints (
    endpoint_id         uuid        PRIMARY KEY,
    -- Bounds how many there are.
    slot                smallint    NOT NULL UNIQUE CHECK (slot BETWEEN 1 AND 10),
    url                 text        NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
    sealed_secret       bytea       NOT NULL,
    -- Signs beside the new one for a while after it was replaced.
    sealed_older_secret bytea,
    older_secret_until  timestamptz,
    created_at          timestamptz NOT NULL,
    -- Since when every attempt has failed.
    failing_since       timestamptz,
    -- Nothing is sent from then on.
    disabled_at         timestamptz,
    disabled_reason     text        CHECK (disabled_reason IN ('gone', 'failing')),
    CHECK ((sealed_older_secret IS NULL) = (older_secret_until IS NULL)),
    CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
);

-- One event for one endpoint. Written in the transaction of the decision that it tells of; holds no credential, address
-- or number. Those of one user are sent in the order of `position`, which follows the order of their transactions.
CREATE TABLE webhook_messages (
    position        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint_id     uuid        NOT NULL REFERENCES webhook_endpoints ON DELETE CASCADE,
    tenant_id       text        COLLATE "C" NOT NULL DEFAULT '',
    user_id         text        COLLATE "C" NOT NULL,
    message_id      uuid        NOT NULL,
    type            text        COLLATE "C" NOT NULL CHECK (type ~ '^[a-z]+[.][a-z]+$'),
    occurred_at     timestamptz NOT NULL,
    conflict_id     bytea       CHECK (length(conflict_id) = 16),
    method          text        COLLATE "C",
    rule            text        NOT NULL,
    state           text        NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts        integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- While somebody is sending it: when another may try.
    next_attempt_at timestamptz NOT NULL,
    -- What the last attempt was answered; NULL where no answer came.
    last_status     integer,
    finished_at     timestamptz,
    UNIQUE (endpoint_id, message_id),
    CHECK ((state = 'pending') = (finished_at IS NULL))
);

CREATE INDEX webhook_messages_due ON webhook_messages (next_attempt_at) WHERE state = 'pending';
CREATE INDEX webhook_messages_waiting ON webhook_messages (endpoint_id, tenant_id, user_id, position)
    WHERE state = 'pending';
CREATE INDEX webhook_messages_done ON webhook_messages (finished_at) WHERE state <> 'pending';
CREATE INDEX webhook_messages_failed ON webhook_messages (endpoint_id, position) WHERE state = 'failed';
