-- Work that one server at a time does for all: the server that has it, and when another may take it over. And the day by
-- which unused sessions are found. Rows of before have no day: the purge adds it in batches.

CREATE TABLE duties (
    duty       text        COLLATE "C" PRIMARY KEY,
    -- Random; a new one at each start of a server.
    holder     text        COLLATE "C" NOT NULL CHECK (length(holder) BETWEEN 1 AND 100),
    held_until timestamptz NOT NULL
);

-- A day on which the session was used, as days since 1970 in UTC; not always the last.
ALTER TABLE sessions ADD COLUMN used_day integer;
