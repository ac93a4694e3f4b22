-- What becomes of conflicts is counted by what the account had when each was opened, and once for each, whichever of
-- several servers notices the end.

ALTER TABLE conflicts
    -- How the account could be signed in to when the conflict was opened: one of a closed set of words, `MethodClass`.
    ADD COLUMN account_method text    COLLATE "C" NOT NULL DEFAULT 'other' CHECK (account_method ~ '^[A-Za-z.]{1,32}$'),
    -- Whether its end was counted.
    ADD COLUMN is_counted     boolean NOT NULL DEFAULT false;

-- What ended before is nothing new.
UPDATE conflicts SET is_counted = true WHERE closed_at IS NOT NULL OR expires_at <= now();

-- Those that have ended and were not counted are found without reading the others.
CREATE INDEX conflicts_uncounted ON conflicts ((coalesce(closed_at, expires_at))) WHERE NOT is_counted;
