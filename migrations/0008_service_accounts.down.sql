DROP INDEX users_by_initial_email;
DROP TABLE service_accounts;
