-- The outbox of idem: one row for each event that has not left, and for those that are kept. SQLite 3.37 and later
-- (STRICT tables).
--
-- `seq` is the order of appends, and AUTOINCREMENT never gives one twice. Times are microseconds since
-- 1970-01-01T00:00:00Z.

CREATE TABLE idem_ledger_outbox (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    appended_at   INTEGER NOT NULL,
    -- When a pending event may be claimed: its delivery time, the end of its backoff, or the end of its lease.
    due_at        INTEGER,
    -- When it was to be delivered at the earliest, if not at once. It stays, whatever becomes of `due_at`.
    deliver_at    INTEGER,
    -- When it was published, or set aside as dead.
    settled_at    INTEGER,
    claim_token   BLOB    CHECK (length(claim_token) = 16),
    attempts      INTEGER NOT NULL DEFAULT 0,
    -- 0 pending, 1 published, 2 dead, 3 waiting behind an earlier event of its partition, 4 waiting for its topic to be
    -- resumed.
    state         INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 4),
    id            TEXT    NOT NULL UNIQUE CHECK (length(id) = 64),
    topic         TEXT    NOT NULL CHECK (length(topic) BETWEEN 1 AND 255),
    partition_key TEXT    CHECK (length(partition_key) BETWEEN 1 AND 255),
    event_type    TEXT    NOT NULL CHECK (length(event_type) BETWEEN 1 AND 255),
    source        TEXT    NOT NULL CHECK (length(source) BETWEEN 1 AND 255),
    subject       TEXT    CHECK (length(subject) BETWEEN 1 AND 255),
    content_type  TEXT    NOT NULL CHECK (length(content_type) BETWEEN 1 AND 255),
    traceparent   TEXT    CHECK (length(traceparent) = 55),
    tracestate    TEXT    CHECK (length(tracestate) <= 512),
    -- A JSON object of texts.
    headers       TEXT,
    last_error    TEXT,
    payload       BLOB    NOT NULL,
    CHECK ((due_at IS NOT NULL) = (state = 0)),
    CHECK ((settled_at IS NOT NULL) = (state IN (1, 2))),
    CHECK (claim_token IS NULL OR state = 0)
) STRICT;

-- What a claim reads: nothing that is dead, published or waiting is in it.
CREATE INDEX idem_ledger_outbox_due ON idem_ledger_outbox (due_at, seq) WHERE state = 0;

-- The first event of a partition that has not left.
CREATE INDEX idem_ledger_outbox_partition ON idem_ledger_outbox (topic, partition_key, seq)
    WHERE partition_key IS NOT NULL AND state IN (0, 3, 4);

CREATE INDEX idem_ledger_outbox_settled ON idem_ledger_outbox (state, settled_at) WHERE state IN (1, 2);

CREATE INDEX idem_ledger_outbox_held ON idem_ledger_outbox (topic, seq) WHERE state = 4;

-- The topics that are paused.
CREATE TABLE idem_ledger_outbox_paused (
    topic     TEXT    NOT NULL PRIMARY KEY,
    paused_at INTEGER NOT NULL
) STRICT;
