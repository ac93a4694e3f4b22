ALTER TABLE provider_configs DROP COLUMN addresses;

DROP TABLE provider_flows;
