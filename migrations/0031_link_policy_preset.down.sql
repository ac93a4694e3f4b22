UPDATE project_config SET settings = settings - 'linkPolicy';

UPDATE project_config_versions SET settings = settings - 'linkPolicy';
