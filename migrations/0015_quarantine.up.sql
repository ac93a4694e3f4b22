-- Methods that a takeover or a reset took off an account: suspended until they are proven again or their time is over.

-- An account that has a method anew has it no longer in here; so there is no more than one row for each method.
CREATE TABLE quarantined_methods (
    tenant_id      text        COLLATE "C" NOT NULL DEFAULT '',
    user_id        text        COLLATE "C" NOT NULL,
    -- 'password', 'phone' or a provider id.
    method         text        COLLATE "C" NOT NULL,
    -- Of a password: the hash, as password_credentials had it.
    password_hash  text,
    -- Of a provider: whom it stood for there. Of a phone: the number.
    subject        text        COLLATE "C" CHECK (length(subject) BETWEEN 1 AND 255),
    -- What took it off: the event that keeps the decision, and the rule that fired.
    event_id       uuid        NOT NULL,
    rule           text        COLLATE "C" NOT NULL,
    quarantined_at timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL CHECK (expires_at > quarantined_at),
    PRIMARY KEY (tenant_id, user_id, method),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE,
    CHECK ((method = 'password') = (password_hash IS NOT NULL)),
    CHECK ((method = 'password') = (subject IS NULL))
);

CREATE INDEX quarantined_methods_by_expiry ON quarantined_methods (expires_at);
