DELETE FROM identifiers WHERE reserved_until IS NOT NULL;
ALTER TABLE identifiers DROP COLUMN reserved_until;
