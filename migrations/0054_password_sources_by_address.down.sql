DROP TABLE password_sources;
