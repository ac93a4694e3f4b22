-- The checks of the migrations before, on the rows that were there, while requests read and write.
ALTER TABLE outbox VALIDATE CONSTRAINT outbox_state_check;
ALTER TABLE identifiers VALIDATE CONSTRAINT identifiers_reserved_check;

CREATE INDEX identifiers_reserved ON identifiers (reserved_until) WHERE reserved_until IS NOT NULL;
