-- Who brought a version of the project's configuration into force, and why. Unknown for versions that are older than this.

ALTER TABLE project_config_versions
    -- `cli:USER@HOST`, `service-account:EMAIL/KEY-ID`, `owner` or `emulator`.
    ADD COLUMN author           text CHECK (length(author) BETWEEN 1 AND 500),
    -- An operator's own words.
    ADD COLUMN reason           text CHECK (length(reason) BETWEEN 1 AND 500),
    -- Providers that were enabled, disabled or removed together with the settings: {"ID": {"before": …, "after": …}}.
    ADD COLUMN provider_changes jsonb CHECK (jsonb_typeof(provider_changes) = 'object');
