-- Legal holds: while there is a row for a scope, no purge, no `idem forget` and no strict expiry deletes or replaces its records,
-- nor the archive's rows. SQLite 3.37 and later (STRICT tables). Run it in an earlier deploy than the first hold: a purge that
-- began before it knows of none.
--
-- Times are microseconds since 1970-01-01T00:00:00Z.

CREATE TABLE idem_hold (
    -- The empty text is the scope that all callers share.
    scope   TEXT    NOT NULL PRIMARY KEY CHECK (length(scope) <= 255),
    at      INTEGER NOT NULL,
    -- Who placed it: the name that the operator gave, and the account of the session, which SQLite does not have.
    actor   TEXT    NOT NULL CHECK (length(actor) BETWEEN 1 AND 255),
    account TEXT,
    -- Why.
    reason  TEXT    NOT NULL
) STRICT;
