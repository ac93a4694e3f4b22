DELETE FROM identifiers WHERE reserved_until IS NOT NULL;
