UPDATE project_config_versions
SET author = 'cli:ada@host', reason = 'closes anonymous sign-up',
    provider_changes = '{"github.com": {"after": "disabled", "before": "enabled"}}'
WHERE version = 99;
