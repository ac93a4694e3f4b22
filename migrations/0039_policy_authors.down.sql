ALTER TABLE project_config_versions
    DROP COLUMN provider_changes,
    DROP COLUMN reason,
    DROP COLUMN author;
