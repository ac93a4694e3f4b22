DROP TABLE provider_configs;
