-- The checks of lookup codes (0055), on the rows that were there before, while requests read and write.
ALTER TABLE one_time_codes VALIDATE CONSTRAINT one_time_codes_kind_check;
ALTER TABLE one_time_codes VALIDATE CONSTRAINT one_time_codes_user_check;
ALTER TABLE short_codes VALIDATE CONSTRAINT short_codes_kind_check;
