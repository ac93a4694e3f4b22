-- A mail tells the proven address of an account of sign-in methods that were added, removed or replaced. Its code brings back what
-- was there before.

ALTER TABLE one_time_codes
    DROP CONSTRAINT one_time_codes_kind_check,
    ADD CONSTRAINT one_time_codes_kind_check CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN', 'VERIFY_EMAIL',
        'VERIFY_AND_CHANGE_EMAIL', 'RECOVER_EMAIL', 'REVERT_SECOND_FACTOR_ADDITION', 'REVERT_SIGN_IN_METHOD_CHANGE')),
    DROP CONSTRAINT one_time_codes_address_was_proven_check,
    ADD CONSTRAINT one_time_codes_address_was_proven_check CHECK (NOT address_was_proven OR kind IN ('RECOVER_EMAIL',
        'REVERT_SECOND_FACTOR_ADDITION', 'REVERT_SIGN_IN_METHOD_CHANGE'));

-- A sign-in method that a code brings back to what it was before a change. It ends with its code.
CREATE TABLE code_methods (
    tenant_id     text        COLLATE "C" NOT NULL DEFAULT '',
    code_hash     bytea       NOT NULL,
    -- A provider, `password`, `emailLink` or `phone`.
    method        text        COLLATE "C" NOT NULL,
    -- False: the account did not have the method, and everything else is NULL.
    was_there     boolean     NOT NULL,
    password_hash text,
    -- The user's id at the provider, or the number.
    subject       text        COLLATE "C" CHECK (length(subject) BETWEEN 1 AND 255),
    issuer        text,
    email         text        CHECK (length(email) <= 255),
    display_name  text        CHECK (length(display_name) <= 256),
    photo_url     text        CHECK (length(photo_url) <= 2048),
    screen_name   text        CHECK (length(screen_name) <= 256),
    linked_at     timestamptz,
    updated_at    timestamptz,
    -- How the method was proven, where that is known.
    proof         text,
    proven_at     timestamptz,
    PRIMARY KEY (tenant_id, code_hash, method),
    FOREIGN KEY (tenant_id, code_hash) REFERENCES one_time_codes ON DELETE CASCADE,
    CHECK ((password_hash IS NOT NULL) = (was_there AND method = 'password')),
    CHECK ((subject IS NOT NULL) = (was_there AND method NOT IN ('password', 'emailLink'))),
    CHECK ((linked_at IS NOT NULL) = (was_there AND method NOT IN ('password', 'emailLink', 'phone'))),
    CHECK ((linked_at IS NULL) = (updated_at IS NULL)),
    CHECK ((proof IS NULL) = (proven_at IS NULL))
);

ALTER TABLE webhook_messages
    -- Of `methods.changed`: the methods that were added, removed and replaced, and whether their owner was mailed.
    ADD COLUMN method_changes jsonb CHECK (jsonb_typeof(method_changes) = 'object');
