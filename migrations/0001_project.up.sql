-- The one project a database serves, the keys its apps present, and the keys that sign its tokens.

CREATE TABLE project_config (
    singleton      boolean     NOT NULL DEFAULT true PRIMARY KEY CHECK (singleton),
    project_id     text        NOT NULL CHECK (project_id ~ '^[a-z0-9][a-z0-9-]{2,61}[a-z0-9]$'),
    project_number bigint      NOT NULL CHECK (project_number > 0),
    settings       jsonb       NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(settings) = 'object'),
    version        bigint      NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz NOT NULL DEFAULT now()
);

-- An API key names the project to a client; it is public by nature and proves nothing.
CREATE TABLE api_keys (
    api_key      text        COLLATE "C" PRIMARY KEY CHECK (length(api_key) BETWEEN 8 AND 128),
    display_name text        NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now()
);

-- Whoever inserts a generation first decides it: two servers that start together agree by the unique key.
CREATE TABLE signing_keys (
    key_id             text        COLLATE "C" PRIMARY KEY,
    purpose            text        NOT NULL CHECK (purpose IN ('id-token', 'session-cookie')),
    generation         bigint      NOT NULL CHECK (generation > 0),
    algorithm          text        NOT NULL CHECK (algorithm IN ('ES256', 'RS256')),
    sealed_private_key bytea       NOT NULL,
    certificate        bytea       NOT NULL,
    created_at         timestamptz NOT NULL,
    signs_from         timestamptz NOT NULL,
    published_until    timestamptz,
    UNIQUE (purpose, generation)
);
