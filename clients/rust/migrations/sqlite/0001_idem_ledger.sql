-- The ledger of idem-client: one row for each request, from the transaction that enqueues it until it is purged. SQLite 3.37
-- and later (STRICT tables). The queue, `idem_ledger_outbox`, is the next migration.
--
-- Times are microseconds since 1970-01-01T00:00:00Z.

CREATE TABLE idem_ledger (
    created_at      INTEGER NOT NULL,
    -- When the answer was recorded.
    settled_at      INTEGER,
    -- 0 open, 1 answered, 2 refused.
    state           INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2),
    -- The answer's status.
    status          INTEGER,
    -- The id of its event in the queue.
    id              TEXT    NOT NULL PRIMARY KEY CHECK (length(id) = 64),
    idempotency_key TEXT    NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 255),
    method          TEXT    NOT NULL,
    url             TEXT    NOT NULL,
    -- A JSON array of pairs.
    headers         TEXT    NOT NULL,
    body            BLOB    NOT NULL,
    answer_headers  TEXT,
    answer_body     BLOB,
    CHECK ((settled_at IS NOT NULL) = (state <> 0)),
    CHECK ((status IS NOT NULL) = (state <> 0)),
    CHECK ((answer_headers IS NOT NULL) = (state <> 0)),
    CHECK ((answer_body IS NOT NULL) = (state <> 0))
) STRICT;

-- What a purge reads.
CREATE INDEX idem_ledger_settled ON idem_ledger (settled_at) WHERE state <> 0;
