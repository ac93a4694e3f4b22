ALTER TABLE linked_providers RESET (fillfactor);
