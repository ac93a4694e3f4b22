-- The version before knows no such code.
DELETE FROM one_time_codes WHERE kind = 'REVERT_SECOND_FACTOR_ADDITION';
ALTER TABLE one_time_codes
    DROP CONSTRAINT one_time_codes_second_factor_check,
    DROP CONSTRAINT one_time_codes_kind_check,
    ADD CONSTRAINT one_time_codes_kind_check CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN', 'VERIFY_EMAIL',
        'VERIFY_AND_CHANGE_EMAIL', 'RECOVER_EMAIL')),
    DROP COLUMN second_factor_id;

DROP TABLE factor_challenges;
DROP TABLE second_factors;
