ALTER TABLE provider_configs DROP COLUMN email_domains;
