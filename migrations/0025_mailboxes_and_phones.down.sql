DROP INDEX second_factors_by_number;

-- The version before would try to send them.
DELETE FROM outbox WHERE is_withheld AND state = 'pending';
ALTER TABLE outbox DROP COLUMN is_withheld;

ALTER TABLE one_time_codes DROP COLUMN address_was_proven;
DROP INDEX one_time_codes_by_user;
CREATE INDEX one_time_codes_by_user ON one_time_codes (tenant_id, user_id) WHERE user_id IS NOT NULL;
