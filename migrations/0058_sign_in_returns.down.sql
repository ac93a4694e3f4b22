DROP TABLE sign_in_returns;
