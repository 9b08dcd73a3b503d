//! The statements.
//!
//! A transaction that writes is the only one, and reads what the last one has committed, or fails with `BUSY_SNAPSHOT`.

pub(super) const INSERT_OR_ADVANCE: &str = "\
INSERT INTO idem_version AS own (projection, entity, version, found) VALUES (?1, ?2, ?3, ?4) \
ON CONFLICT (projection, entity) DO UPDATE SET found = own.version, \
version = CASE WHEN own.version = excluded.version - 1 THEN excluded.version ELSE own.version END \
RETURNING found";

pub(super) const ADVANCE: &str = "\
UPDATE idem_version SET found = version, version = CASE WHEN version = ?3 - 1 THEN ?3 ELSE version END \
WHERE projection = ?1 AND entity = ?2 RETURNING found";

pub(super) const INSERT_OR_RAISE: &str = "\
INSERT INTO idem_version AS own (projection, entity, version, found) VALUES (?1, ?2, ?3, ?4) \
ON CONFLICT (projection, entity) DO UPDATE SET found = own.version, \
version = max(own.version, excluded.version) \
RETURNING found";

pub(super) const RESET: &str = "\
INSERT INTO idem_version (projection, entity, version, found) VALUES (?1, ?2, ?3, ?4) \
ON CONFLICT (projection, entity) DO UPDATE SET version = excluded.version";

/// One row for each reason why the table is unfit.
pub(super) const UNFIT: &str = "\
WITH o AS (SELECT name, sql FROM main.sqlite_master WHERE type = 'table' AND name = 'idem_version'),
     i AS (SELECT (SELECT group_concat(x.name) FROM (SELECT name FROM pragma_index_xinfo(l.name)
                    WHERE \"key\" AND coll = 'BINARY' ORDER BY name) x) AS columns,
                  (SELECT count(*) FROM pragma_index_xinfo(l.name) WHERE \"key\") AS keys
             FROM o, pragma_index_list(o.name) l WHERE l.\"unique\" AND NOT l.partial)
SELECT 'there is no such table in the main database' WHERE NOT EXISTS (SELECT 1 FROM o)
UNION ALL SELECT 'it has an ON CONFLICT clause of its own' FROM o WHERE sql LIKE '%ON CONFLICT%'
UNION ALL SELECT 'it has no unique index on exactly (projection, entity), compared byte for byte' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM i WHERE columns = 'entity,projection' AND keys = 2)
UNION ALL SELECT format('its column %s is not an INTEGER', w.name)
    FROM o, (SELECT 'version' AS name UNION ALL SELECT 'found') w
    WHERE NOT EXISTS (SELECT 1 FROM pragma_table_info(o.name) c WHERE c.name = w.name AND c.type IN ('INTEGER', 'INT'))";
