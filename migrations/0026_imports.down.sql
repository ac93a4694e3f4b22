DROP TABLE hash_keys;
