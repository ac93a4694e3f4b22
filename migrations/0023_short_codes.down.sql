DROP TABLE short_codes;
