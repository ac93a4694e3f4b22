-- What cannot be told apart by its time, and what outlives an intruder: mails that are withheld, recovery codes, and numbers
-- that are second factors.

-- Of all codes, also of those that are nobody's: a code of somebody's is written in the same time.
DROP INDEX one_time_codes_by_user;
CREATE INDEX one_time_codes_by_user ON one_time_codes (tenant_id, user_id);

ALTER TABLE one_time_codes
    -- Whether whoever reads the mailbox had shown to, by the time the code went there. Of codes that take back what an intruder
    -- did.
    ADD COLUMN address_was_proven boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT one_time_codes_address_was_proven_check
        CHECK (NOT address_was_proven OR kind IN ('RECOVER_EMAIL', 'REVERT_SECOND_FACTOR_ADDITION'));

ALTER TABLE outbox
    -- Waits like any other, says nothing, and is thrown away by whoever takes it.
    ADD COLUMN is_withheld boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT outbox_is_withheld_check CHECK (NOT (is_withheld AND state = 'sent'));

-- Whose second factor a number is: one that is somebody's cannot become fictional.
CREATE INDEX second_factors_by_number ON second_factors (tenant_id, number) WHERE number IS NOT NULL;
