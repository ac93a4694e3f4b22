DROP TABLE sign_in_methods;
DROP TABLE linked_providers;
DROP TABLE password_credentials;
DROP TABLE identifiers;
DROP TABLE users;
