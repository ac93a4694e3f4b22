-- Short codes in mails, beside the link: for whoever reads the mail on another device.

-- One for each mailbox and purpose, the newest mail's; another mail replaces it. Guesses at a mailbox that was sent none are
-- counted in the same way, so that an answer tells nobody who was. No foreign key: links are distributed by their hash.
CREATE TABLE short_codes (
    tenant_id   text        COLLATE "C" NOT NULL DEFAULT '',
    kind        text        COLLATE "C" NOT NULL CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN', 'VERIFY_EMAIL',
                                                                 'VERIFY_AND_CHANGE_EMAIL')),
    -- Where the mail went, in its canonical form.
    email_key   text        COLLATE "C" NOT NULL CHECK (length(email_key) BETWEEN 3 AND 255),
    -- The link of the same mail, in one_time_codes; NULL where there is no mail.
    code_hash   bytea       CHECK (length(code_hash) = 32),
    sealed_code bytea       CHECK (length(sealed_code) <= 512),
    -- Wrong guesses.
    attempts    integer     NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND 5),
    expires_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, kind, email_key),
    CHECK ((code_hash IS NULL) = (sealed_code IS NULL))
);

CREATE INDEX short_codes_by_expiry ON short_codes (expires_at);
