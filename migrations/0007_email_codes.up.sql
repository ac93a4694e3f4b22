-- Codes that travel by mail, and the messages that carry them.

-- A code is found by its hash and is not stored itself. What it proves is that somebody reads the mail of its address;
-- the account it was made for is looked at again when it comes back. No foreign key: an account may not exist yet, and
-- codes are distributed by their hash.
CREATE TABLE one_time_codes (
    tenant_id     text        COLLATE "C" NOT NULL DEFAULT '',
    code_hash     bytea       NOT NULL CHECK (length(code_hash) = 32),
    -- The wire's own name.
    kind          text        COLLATE "C" NOT NULL CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN', 'VERIFY_EMAIL',
                                                                   'VERIFY_AND_CHANGE_EMAIL', 'RECOVER_EMAIL')),
    -- The account at the time; NULL while nobody has the address.
    user_id       text        COLLATE "C",
    -- The account's epoch at the time, where a code dies with the sessions.
    session_epoch bigint,
    -- The account's address at the time: where the code went, unless there is a new one.
    email         text        NOT NULL CHECK (length(email) BETWEEN 3 AND 255),
    email_key     text        COLLATE "C" NOT NULL CHECK (length(email_key) BETWEEN 3 AND 255),
    new_email     text        CHECK (length(new_email) BETWEEN 3 AND 255),
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    -- Used, or void.
    consumed_at   timestamptz,
    -- The request that used it, made beforehand: of many racers it tells which one.
    consumed_by   uuid,
    -- How often it came back with another address.
    attempts      integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    PRIMARY KEY (tenant_id, code_hash),
    CHECK (consumed_by IS NULL OR consumed_at IS NOT NULL),
    CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN') OR user_id IS NOT NULL),
    CHECK (kind <> 'VERIFY_AND_CHANGE_EMAIL' OR (session_epoch IS NOT NULL AND new_email IS NOT NULL))
);

CREATE INDEX one_time_codes_by_user ON one_time_codes (tenant_id, user_id) WHERE user_id IS NOT NULL;

-- Messages on their way out, written in the transaction that needs them. A worker takes what is due with
-- FOR UPDATE SKIP LOCKED. The payload is sealed, because it carries a code, and is blanked once it was sent.
CREATE TABLE outbox (
    tenant_id       text        COLLATE "C" NOT NULL DEFAULT '',
    message_id      uuid        NOT NULL,
    -- The way out, such as 'mail'.
    kind            text        COLLATE "C" NOT NULL CHECK (kind ~ '^[a-z-]{1,32}$'),
    sealed_payload  bytea,
    created_at      timestamptz NOT NULL,
    -- Not worth sending any more from then on.
    expires_at      timestamptz NOT NULL,
    -- 'withheld': written for the work it is, so that nobody can tell by the clock that there is nothing to send.
    state           text        COLLATE "C" NOT NULL DEFAULT 'pending'
                                CHECK (state IN ('pending', 'sent', 'failed', 'withheld')),
    attempts        integer     NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    next_attempt_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, message_id),
    CHECK ((state = 'pending') = (sealed_payload IS NOT NULL))
);

CREATE INDEX outbox_due ON outbox (next_attempt_at) WHERE state = 'pending';
