-- The version before knows no such message and no such code.
DELETE FROM webhook_messages WHERE type = 'methods.changed';
ALTER TABLE webhook_messages DROP COLUMN method_changes;

DROP TABLE code_methods;
DELETE FROM one_time_codes WHERE kind = 'REVERT_SIGN_IN_METHOD_CHANGE';
ALTER TABLE one_time_codes
    DROP CONSTRAINT one_time_codes_address_was_proven_check,
    ADD CONSTRAINT one_time_codes_address_was_proven_check CHECK (NOT address_was_proven OR kind IN ('RECOVER_EMAIL',
        'REVERT_SECOND_FACTOR_ADDITION')),
    DROP CONSTRAINT one_time_codes_kind_check,
    ADD CONSTRAINT one_time_codes_kind_check CHECK (kind IN ('PASSWORD_RESET', 'EMAIL_SIGNIN', 'VERIFY_EMAIL',
        'VERIFY_AND_CHANGE_EMAIL', 'RECOVER_EMAIL', 'REVERT_SECOND_FACTOR_ADDITION'));
