ALTER TABLE one_time_codes
    DROP CONSTRAINT one_time_codes_kind_check,
    ADD CONSTRAINT one_time_codes_kind_check CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN', 'VERIFY_EMAIL',
        'VERIFY_AND_CHANGE_EMAIL', 'RECOVER_EMAIL', 'REVERT_SECOND_FACTOR_ADDITION', 'REVERT_SIGN_IN_METHOD_CHANGE',
        'LOOKUP')) NOT VALID,
    DROP CONSTRAINT one_time_codes_user_check,
    ADD CONSTRAINT one_time_codes_user_check CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN', 'LOOKUP')
        OR user_id IS NOT NULL) NOT VALID;
ALTER TABLE short_codes
    DROP CONSTRAINT short_codes_kind_check,
    ADD CONSTRAINT short_codes_kind_check CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN', 'VERIFY_EMAIL',
        'VERIFY_AND_CHANGE_EMAIL', 'LOOKUP')) NOT VALID;
