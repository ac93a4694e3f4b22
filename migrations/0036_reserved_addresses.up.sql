-- An address that its account has given up, and that a mailed code can bring back (RECOVER_EMAIL), stays claimed for the account
-- until the code ends. It is the same row as the claim on an address that an account has, so the primary key admits one of them.

ALTER TABLE identifiers
    -- NULL: the account has it. Otherwise it has not, and nobody else may until then, as long as the code lives.
    ADD COLUMN reserved_until timestamptz,
    ADD CONSTRAINT identifiers_reserved_check CHECK (reserved_until IS NULL OR kind = 'email') NOT VALID;
