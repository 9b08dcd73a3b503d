-- What operators have changed by hand, one row for each change, written in the transaction of the change. SQLite 3.37 and
-- later (STRICT tables). Only the command line and a console need it.
--
-- Times are microseconds since 1970-01-01T00:00:00Z.

CREATE TABLE idem_audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    -- Who: the name that the operator gave, and the account of the session, which SQLite does not have.
    actor      TEXT    NOT NULL CHECK (length(actor) BETWEEN 1 AND 255),
    account    TEXT,
    -- What: resolve, release, purge, forget, hold, lift; of events requeue, resume, drop (`scope` is then their topic).
    action     TEXT    NOT NULL CHECK (length(action) BETWEEN 1 AND 64),
    on_table   TEXT    NOT NULL CHECK (length(on_table) BETWEEN 1 AND 127),
    namespace  TEXT    CHECK (length(namespace) <= 64),
    scope      TEXT    CHECK (length(scope) <= 255),
    record_key TEXT    CHECK (length(record_key) <= 255),
    event_id   TEXT    CHECK (length(event_id) <= 64),
    -- Why.
    reason     TEXT    NOT NULL,
    -- The statuses or counts of the change, as a JSON object. No payload.
    detail     TEXT    NOT NULL
) STRICT;

CREATE INDEX idem_audit_at ON idem_audit (at);

-- The changes of one record, and of one event.
CREATE INDEX idem_audit_record ON idem_audit (namespace, scope, record_key, id) WHERE record_key IS NOT NULL;
CREATE INDEX idem_audit_event ON idem_audit (event_id, id) WHERE event_id IS NOT NULL;
