//! The statements.
//!
//! MySQL has no RETURNING. `LAST_INSERT_ID(expr)` sends a number back in the answer to an INSERT or UPDATE (MySQL manual,
//! *Information Functions*): one more than the version found, so that 0 says that no row was. Both statements read the row
//! that they lock, and not the transaction's snapshot.

pub(super) const INSERT_OR_ADVANCE: &str = "\
INSERT INTO idem_version (projection, entity, version) VALUES (?, ?, ?) \
ON DUPLICATE KEY UPDATE version = IF(LAST_INSERT_ID(version + 1) = ?, ?, version)";

pub(super) const ADVANCE: &str = "\
UPDATE idem_version SET version = IF(LAST_INSERT_ID(version + 1) = ?, ?, version) \
WHERE projection = ? AND entity = ?";

pub(super) const INSERT_OR_RAISE: &str = "\
INSERT INTO idem_version (projection, entity, version) VALUES (?, ?, ?) \
ON DUPLICATE KEY UPDATE version = IF(LAST_INSERT_ID(version + 1) <= ?, ?, version)";

pub(super) const RESET: &str = "\
INSERT INTO idem_version (projection, entity, version) VALUES (?, ?, ?) \
ON DUPLICATE KEY UPDATE version = ?";

/// One row for each reason why the table is unfit. `ON DUPLICATE KEY UPDATE` takes a row that any unique index finds, so that
/// another one would advance the wrong entity.
pub(super) const UNFIT: &str = "\
WITH o AS (SELECT t.table_name, t.engine FROM information_schema.tables t
            WHERE t.table_schema = DATABASE() AND t.table_name = 'idem_version'),
     i AS (SELECT x.index_name, min(x.sub_part IS NULL) AS whole,
                  group_concat(x.column_name ORDER BY x.column_name) AS columns
             FROM information_schema.statistics x
            WHERE x.table_schema = DATABASE() AND x.table_name = 'idem_version' AND x.non_unique = 0
            GROUP BY x.index_name),
     c AS (SELECT x.column_name, x.data_type FROM information_schema.columns x
            WHERE x.table_schema = DATABASE() AND x.table_name = 'idem_version')
SELECT 'there is no such table' FROM (SELECT 1) one WHERE NOT EXISTS (SELECT 1 FROM o)
UNION ALL SELECT 'its engine is not InnoDB' FROM o WHERE engine <> 'InnoDB'
UNION ALL SELECT 'it has no unique index on exactly (projection, entity)' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM i WHERE columns = 'entity,projection' AND whole = 1)
UNION ALL SELECT concat('its unique index ', index_name, ' is on other columns than (projection, entity), and would take one entity for another')
    FROM i WHERE columns <> 'entity,projection' OR whole = 0
UNION ALL SELECT concat('its column ', column_name, ' is not VARBINARY, so that names are not compared byte for byte') FROM c
    WHERE column_name IN ('projection', 'entity') AND data_type <> 'varbinary'
UNION ALL SELECT 'its column version is not a BIGINT' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM c WHERE column_name = 'version' AND data_type = 'bigint')";
