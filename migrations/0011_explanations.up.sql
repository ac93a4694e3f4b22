-- What an operator needs to say afterwards why something was decided: the facts, and the configuration in force.

-- Every version the project's configuration has had, the one in force among them. Append-only.
CREATE TABLE project_config_versions (
    version    bigint      NOT NULL PRIMARY KEY CHECK (version > 0),
    settings   jsonb       NOT NULL CHECK (jsonb_typeof(settings) = 'object'),
    changed_at timestamptz NOT NULL
);

INSERT INTO project_config_versions (version, settings, changed_at)
SELECT version, settings, updated_at FROM project_config;

-- The questions that the rules were asked, with every fact they looked at, what they answered and what else they could
-- have answered. Names stand for addresses, numbers and subjects.
ALTER TABLE account_events
    ADD COLUMN policy_version bigint,
    ADD COLUMN decisions      jsonb CHECK (jsonb_typeof(decisions) = 'array'),
    ADD CONSTRAINT account_events_decisions_have_policy CHECK (decisions IS NULL OR policy_version IS NOT NULL);

-- An operator is told an event's id and nothing else. The ids of events rise with the time, so this grows at its end.
CREATE INDEX account_events_by_id ON account_events (event_id);
