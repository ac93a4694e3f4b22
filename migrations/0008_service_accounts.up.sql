-- Backends that act as administrators: each holds a private key, and the database its public half.

CREATE TABLE service_accounts (
    -- Names the key in the header of what it signs.
    key_id     text        COLLATE "C" PRIMARY KEY CHECK (length(key_id) BETWEEN 8 AND 128),
    email      text        COLLATE "C" NOT NULL CHECK (length(email) BETWEEN 3 AND 255),
    -- SubjectPublicKeyInfo, DER (RFC 5280, section 4.1).
    public_key bytea       NOT NULL,
    created_at timestamptz NOT NULL
);

-- Administrators look accounts up by the first address they had.
CREATE INDEX users_by_initial_email ON users (tenant_id, lower(initial_email COLLATE "C"))
    WHERE initial_email IS NOT NULL;
