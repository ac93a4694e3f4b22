-- The version before knows no such code.
DELETE FROM short_codes WHERE kind = 'LOOKUP';
DELETE FROM one_time_codes WHERE kind = 'LOOKUP';

ALTER TABLE short_codes
    DROP CONSTRAINT short_codes_kind_check,
    ADD CONSTRAINT short_codes_kind_check CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN', 'VERIFY_EMAIL',
        'VERIFY_AND_CHANGE_EMAIL'));
ALTER TABLE one_time_codes
    DROP CONSTRAINT one_time_codes_user_check,
    ADD CONSTRAINT one_time_codes_check1 CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN') OR user_id IS NOT NULL),
    DROP CONSTRAINT one_time_codes_kind_check,
    ADD CONSTRAINT one_time_codes_kind_check CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN', 'VERIFY_EMAIL',
        'VERIFY_AND_CHANGE_EMAIL', 'RECOVER_EMAIL', 'REVERT_SECOND_FACTOR_ADDITION', 'REVERT_SIGN_IN_METHOD_CHANGE'));
