//! The statements for MySQL and MariaDB.

pub(super) const INSERT: &str = "\
INSERT INTO idem_ledger (created_at, id, idempotency_key, method, url, headers, body) \
VALUES (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), ?, ?, ?, ?, ?, ?)";

pub(super) const LOAD: &str = "\
SELECT idempotency_key, method, url, headers, body FROM idem_ledger WHERE id = ? AND state = 0";

pub(super) const SETTLE: &str = "\
UPDATE idem_ledger SET state = ?, status = ?, answer_headers = ?, answer_body = ?, \
settled_at = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) WHERE id = ? AND state = 0";

pub(super) const LOOK_UP: &str = "\
SELECT l.state, l.idempotency_key, l.status, l.answer_headers, l.answer_body, \
q.state AS queue_state, q.attempts, q.last_error \
FROM idem_ledger l LEFT JOIN idem_ledger_outbox q ON q.id = l.id WHERE l.id = ?";

pub(super) const PURGE: &str = "\
DELETE FROM idem_ledger WHERE settled_at < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - ? AND state <> 0 \
ORDER BY settled_at LIMIT ?";

pub(super) const IS_MISSING: &str = "\
SELECT NOT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'idem_ledger')";

/// One row for each reason why the table is unfit.
pub(super) const UNFIT: &str = "\
WITH o AS (SELECT t.table_name, t.engine FROM information_schema.tables t
            WHERE t.table_schema = DATABASE() AND t.table_name = 'idem_ledger'),
     i AS (SELECT x.index_name, min(x.sub_part IS NULL) AS whole,
                  group_concat(x.column_name ORDER BY x.column_name) AS columns
             FROM information_schema.statistics x
            WHERE x.table_schema = DATABASE() AND x.table_name = 'idem_ledger' AND x.non_unique = 0
            GROUP BY x.index_name),
     c AS (SELECT x.column_name, x.data_type FROM information_schema.columns x
            WHERE x.table_schema = DATABASE() AND x.table_name = 'idem_ledger')
SELECT 'there is no such table' FROM (SELECT 1) one WHERE NOT EXISTS (SELECT 1 FROM o)
UNION ALL SELECT 'its engine is not InnoDB' FROM o WHERE engine <> 'InnoDB'
UNION ALL SELECT 'it has no unique index on exactly (id)' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM i WHERE columns = 'id' AND whole = 1)
UNION ALL SELECT concat('its column ', column_name, ' is not VARBINARY, so that it is not compared byte for byte') FROM c
    WHERE column_name IN ('id', 'idempotency_key') AND data_type <> 'varbinary'
UNION ALL SELECT concat('its column ', column_name, ' is not LONGBLOB, so that a body is cut') FROM c
    WHERE column_name IN ('body', 'answer_body') AND data_type <> 'longblob'";
