//! The statements for PostgreSQL.

pub(super) const INSERT: &str = "\
INSERT INTO idem_ledger (created_at, id, idempotency_key, method, url, headers, body) \
VALUES (clock_timestamp(), $1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING";

pub(super) const LOAD: &str = "\
SELECT idempotency_key, method, url, headers, body FROM idem_ledger WHERE id = $1 AND state = 0";

pub(super) const SETTLE: &str = "\
UPDATE idem_ledger SET state = $1, status = $2, answer_headers = $3, answer_body = $4, settled_at = clock_timestamp() \
WHERE id = $5 AND state = 0";

pub(super) const LOOK_UP: &str = "\
SELECT l.state, l.idempotency_key, l.status, l.answer_headers, l.answer_body, \
q.state AS queue_state, q.attempts, q.last_error \
FROM idem_ledger l LEFT JOIN idem_ledger_outbox q ON q.id = l.id WHERE l.id = $1";

pub(super) const PURGE: &str = "\
DELETE FROM idem_ledger WHERE id IN (SELECT id FROM idem_ledger WHERE state <> 0 \
AND settled_at < clock_timestamp() - $1 * interval '1 microsecond' ORDER BY settled_at LIMIT $2 FOR UPDATE SKIP LOCKED)";

pub(super) const IS_MISSING: &str = "SELECT to_regclass('idem_ledger') IS NULL";

/// One row for each reason why the table is unfit.
pub(super) const UNFIT: &str = "\
WITH o AS (SELECT c.oid, c.relpersistence, c.relkind FROM pg_class c WHERE c.oid = to_regclass('idem_ledger'))
SELECT 'there is no such table' WHERE NOT EXISTS (SELECT FROM o)
UNION ALL SELECT 'it is not an ordinary, logged table' FROM o WHERE relpersistence <> 'p' OR relkind <> 'r'
UNION ALL SELECT 'it has no unique index on exactly (id), valid, immediate and compared byte for byte' FROM o
    WHERE NOT EXISTS (SELECT FROM pg_index x JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
        WHERE x.indrelid = o.oid AND x.indisunique AND x.indisvalid AND x.indimmediate AND x.indpred IS NULL
          AND x.indnkeyatts = 1 AND a.attname = 'id'
          AND NOT EXISTS (SELECT FROM unnest(x.indcollation::oid[]) n(oid) JOIN pg_collation l ON l.oid = n.oid
                           WHERE NOT l.collisdeterministic))
UNION ALL SELECT format('its column %s is not a bytea', w.name) FROM o, (VALUES ('body'), ('answer_body')) w(name)
    WHERE NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = o.oid AND a.attname = w.name AND a.attnum > 0
                         AND NOT a.attisdropped AND a.atttypid = 'pg_catalog.bytea'::regtype)";
