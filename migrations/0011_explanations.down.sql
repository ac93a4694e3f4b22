DROP INDEX account_events_by_id;

ALTER TABLE account_events
    DROP CONSTRAINT account_events_decisions_have_policy,
    DROP COLUMN decisions,
    DROP COLUMN policy_version;

DROP TABLE project_config_versions;
