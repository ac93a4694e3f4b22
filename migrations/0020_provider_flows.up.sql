-- Sign-ins that have begun on the page of a provider and wait for its answer.

CREATE TABLE provider_flows (
    tenant_id      text        COLLATE "C" NOT NULL DEFAULT '',
    -- SHA-256 of the state that the provider gives back.
    state_digest   bytea       NOT NULL CHECK (length(state_digest) = 32),
    -- SHA-256 of what the client has to present with the answer.
    session_digest bytea       NOT NULL CHECK (length(session_digest) = 32),
    provider_id    text        COLLATE "C" NOT NULL CHECK (length(provider_id) BETWEEN 1 AND 128),
    -- What the answer will be judged by.
    sealed_flow    bytea       NOT NULL CHECK (length(sealed_flow) <= 16384),
    expires_at     timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, state_digest)
);

CREATE INDEX provider_flows_by_expiry ON provider_flows (expires_at);

-- Where a provider is reached, by the name of the address, where that is not where everybody reaches it.
ALTER TABLE provider_configs ADD COLUMN addresses jsonb NOT NULL DEFAULT '{}'
    CHECK (jsonb_typeof(addresses) = 'object' AND length(addresses::text) <= 16384);
