-- `dev` and `serve` seal their signing keys differently; whichever starts next makes its own.
DELETE FROM signing_keys;
