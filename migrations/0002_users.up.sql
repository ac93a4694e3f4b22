-- Accounts, and what identifies them.
--
-- Every key begins with the tenant; the project's own users have the tenant ''. Everything of a user carries
-- (tenant_id, user_id) and refers to nothing outside that line, so that it can be distributed by user; identifiers are
-- distributed by value and therefore have no foreign key.

CREATE TABLE users (
    tenant_id             text        COLLATE "C" NOT NULL DEFAULT '',
    user_id               text        COLLATE "C" NOT NULL CHECK (length(user_id) BETWEEN 1 AND 128),
    -- Raised by every change to a fact that a decision reads; a stale writer sets NULL and is stopped.
    version               bigint      NOT NULL DEFAULT 1,
    -- Raised by whatever ends sessions. Starts at random, so that a recreated user revives nothing.
    session_epoch         bigint      NOT NULL,
    email                 text        CHECK (length(email) BETWEEN 3 AND 255),
    -- How control of the address was shown; NULL while it was not.
    email_proof           text,
    email_proven_at       timestamptz,
    initial_email         text        CHECK (length(initial_email) BETWEEN 3 AND 255),
    phone_number          text        CHECK (phone_number ~ '^\+[1-9][0-9]{6,14}$'),
    -- A number that was given up as a way in and is kept as data only.
    unproven_phone_number text        CHECK (unproven_phone_number ~ '^\+[1-9][0-9]{6,14}$'),
    display_name          text        CHECK (length(display_name) <= 256),
    photo_url             text        CHECK (length(photo_url) <= 2048),
    screen_name           text        CHECK (length(screen_name) <= 256),
    language              text        CHECK (length(language) <= 64),
    time_zone             text        CHECK (length(time_zone) <= 64),
    date_of_birth         text        CHECK (length(date_of_birth) <= 64),
    disabled              boolean     NOT NULL DEFAULT false,
    uses_custom_tokens    boolean     NOT NULL DEFAULT false,
    -- The text of a JSON object, as the administrator gave it.
    custom_attributes     text        CHECK (length(custom_attributes) <= 1000),
    valid_since           timestamptz NOT NULL,
    created_at            timestamptz NOT NULL,
    -- Written behind, merged over many callers; the only facts that may lose their last second in a crash.
    last_login_at         timestamptz,
    last_refresh_at       timestamptz,
    PRIMARY KEY (tenant_id, user_id),
    CHECK ((email_proof IS NULL) = (email_proven_at IS NULL)),
    CHECK (email_proof IS NULL OR email IS NOT NULL)
) WITH (fillfactor = 85);

-- Who owns an address, a number or a provider identity. Whoever holds the row owns it; there is no other uniqueness rule.
CREATE TABLE identifiers (
    tenant_id text COLLATE "C" NOT NULL DEFAULT '',
    kind      text COLLATE "C" NOT NULL CHECK (kind IN ('email', 'phone', 'federated')),
    -- email: canonical form; phone: E.164; federated: provider id, U+001F, subject.
    value     text COLLATE "C" NOT NULL CHECK (length(value) BETWEEN 1 AND 512),
    user_id   text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, kind, value)
);

CREATE TABLE password_credentials (
    tenant_id  text        COLLATE "C" NOT NULL DEFAULT '',
    user_id    text        COLLATE "C" NOT NULL,
    -- A self-describing hash, such as $argon2id$v=19$m=19456,t=2,p=1$salt$hash.
    hash       text        NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE
);

-- Profile data of a linked identity; its claim stands in identifiers. An e-mail in here owns nothing.
CREATE TABLE linked_providers (
    tenant_id    text        COLLATE "C" NOT NULL DEFAULT '',
    user_id      text        COLLATE "C" NOT NULL,
    provider_id  text        COLLATE "C" NOT NULL,
    subject      text        COLLATE "C" NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
    issuer       text,
    email        text        CHECK (length(email) <= 255),
    email_key    text        COLLATE "C" CHECK (length(email_key) <= 255),
    display_name text        CHECK (length(display_name) <= 256),
    photo_url    text        CHECK (length(photo_url) <= 2048),
    screen_name  text        CHECK (length(screen_name) <= 256),
    linked_at    timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, provider_id),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE
);

CREATE INDEX linked_providers_by_email ON linked_providers (tenant_id, email_key) WHERE email_key IS NOT NULL;

-- How each way in was proven, and when. A user's methods are derived from facts; this says where they come from.
CREATE TABLE sign_in_methods (
    tenant_id  text        COLLATE "C" NOT NULL DEFAULT '',
    user_id    text        COLLATE "C" NOT NULL,
    -- 'password', 'emailLink', 'phone' or a provider id.
    method     text        COLLATE "C" NOT NULL,
    proof      text        NOT NULL,
    proven_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, method),
    FOREIGN KEY (tenant_id, user_id) REFERENCES users ON DELETE CASCADE
);
