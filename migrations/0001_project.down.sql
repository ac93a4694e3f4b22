DROP TABLE signing_keys;
DROP TABLE api_keys;
DROP TABLE project_config;
