//! The statements for SQLite. The clock is the database's, to the millisecond: SQLite knows no finer time.

pub(super) const INSERT: &str = "\
INSERT INTO idem_ledger (created_at, id, idempotency_key, method, url, headers, body) \
VALUES (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000, ?1, ?2, ?3, ?4, ?5, ?6) \
ON CONFLICT (id) DO NOTHING";

pub(super) const LOAD: &str = "\
SELECT idempotency_key, method, url, headers, body FROM idem_ledger WHERE id = ?1 AND state = 0";

pub(super) const SETTLE: &str = "\
UPDATE idem_ledger SET state = ?1, status = ?2, answer_headers = ?3, answer_body = ?4, \
settled_at = CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 \
WHERE id = ?5 AND state = 0";

pub(super) const LOOK_UP: &str = "\
SELECT l.state, l.idempotency_key, l.status, l.answer_headers, l.answer_body, \
q.state AS queue_state, q.attempts, q.last_error \
FROM idem_ledger l LEFT JOIN idem_ledger_outbox q ON q.id = l.id WHERE l.id = ?1";

pub(super) const PURGE: &str = "\
DELETE FROM idem_ledger WHERE id IN (SELECT id FROM idem_ledger WHERE state <> 0 \
AND settled_at < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 - ?1 \
ORDER BY settled_at LIMIT ?2)";

pub(super) const IS_MISSING: &str = "\
SELECT NOT EXISTS (SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = 'idem_ledger')";

/// One row for each reason why the table is unfit.
pub(super) const UNFIT: &str = "\
WITH o AS (SELECT name, sql FROM main.sqlite_master WHERE type = 'table' AND name = 'idem_ledger'),
     i AS (SELECT (SELECT group_concat(x.name) FROM pragma_index_xinfo(l.name) x WHERE x.\"key\" AND x.coll = 'BINARY') AS columns,
                  (SELECT count(*) FROM pragma_index_xinfo(l.name) WHERE \"key\") AS keys
             FROM o, pragma_index_list(o.name) l WHERE l.\"unique\" AND NOT l.partial)
SELECT 'there is no such table in the main database' WHERE NOT EXISTS (SELECT 1 FROM o)
UNION ALL SELECT 'it has an ON CONFLICT clause of its own' FROM o WHERE sql LIKE '%ON CONFLICT%'
UNION ALL SELECT 'it has no unique index on exactly (id), compared byte for byte' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM i WHERE columns = 'id' AND keys = 1)
UNION ALL SELECT format('its column %s is not a BLOB', w.name)
    FROM o, (SELECT 'body' AS name UNION ALL SELECT 'answer_body') w
    WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info(o.name) c WHERE c.name = w.name AND c.type = 'BLOB')";
