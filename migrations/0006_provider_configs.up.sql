-- The identity providers of the project, as an administrator registered them. Secrets are sealed.

CREATE TABLE provider_configs (
    tenant_id            text        COLLATE "C" NOT NULL DEFAULT '',
    provider_id          text        COLLATE "C" NOT NULL CHECK (length(provider_id) BETWEEN 1 AND 128),
    enabled              boolean     NOT NULL,
    display_name         text        CHECK (length(display_name) <= 256),
    client_id            text        CHECK (length(client_id) <= 1024),
    sealed_client_secret bytea,
    -- oidc.* only.
    issuer               text        CHECK (length(issuer) <= 2048),
    accepts_id_token     boolean     NOT NULL DEFAULT true,
    accepts_code         boolean     NOT NULL DEFAULT false,
    -- apple.com only: audiences of native apps, and what the code flow needs.
    apple_bundle_ids     text[]      NOT NULL DEFAULT '{}',
    apple_team_id        text        CHECK (length(apple_team_id) <= 64),
    apple_key_id         text        CHECK (length(apple_key_id) <= 64),
    sealed_apple_key     bytea,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, provider_id),
    CHECK ((provider_id LIKE 'oidc.%') = (issuer IS NOT NULL))
);
