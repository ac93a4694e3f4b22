-- The devices on which people signed in and that may ask for the sign-in methods of their account.

CREATE TABLE devices (
    tenant_id       text        COLLATE "C" NOT NULL DEFAULT '',
    user_id         text        COLLATE "C" NOT NULL,
    -- The digest of the sign-in that made the device known.
    device_id       bytea       NOT NULL CHECK (length(device_id) = 32),
    -- The account's places for devices.
    slot            integer     NOT NULL CHECK (slot BETWEEN 1 AND 20),
    -- The device is unknown once the account has another epoch.
    session_epoch   bigint      NOT NULL,
    -- User-Agent of the last use.
    name            text        CHECK (octet_length(name) BETWEEN 1 AND 200),
    -- Also in the token, so that a revoked token stays void if its device is registered again.
    created_at      timestamptz NOT NULL,
    -- When the device last got its token.
    last_used_at    timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, device_id),
    CONSTRAINT devices_slot_key UNIQUE (tenant_id, user_id, slot),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE
);

CREATE INDEX devices_by_expiry ON devices (expires_at);
