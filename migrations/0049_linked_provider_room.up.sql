-- Room for a changed profile on its page, so that the update touches no index (HOT). Old pages get it as their rows
-- move.
ALTER TABLE linked_providers SET (fillfactor = 85);
