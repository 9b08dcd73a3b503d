//! The statements.
//!
//! Under READ COMMITTED an UPDATE that met a row of another transaction waits for its COMMIT and computes from the row as it is then.
//! Therefore `found` is the version that the decision was made from, and not one of an older snapshot.

/// Lets one session at a time create the table.
pub(super) const CREATE_LOCK: &str = "SELECT pg_advisory_xact_lock(3175804461190265218)";

pub(super) const INSERT_OR_ADVANCE: &str = "\
INSERT INTO idem_version AS own (projection, entity, version, found) VALUES ($1, $2, $3, $4) \
ON CONFLICT (projection, entity) DO UPDATE SET found = own.version, \
version = CASE WHEN own.version = excluded.version - 1 THEN excluded.version ELSE own.version END \
RETURNING found";

pub(super) const ADVANCE: &str = "\
UPDATE idem_version SET found = version, version = CASE WHEN version = $3 - 1 THEN $3 ELSE version END \
WHERE projection = $1 AND entity = $2 RETURNING found";

pub(super) const INSERT_OR_RAISE: &str = "\
INSERT INTO idem_version AS own (projection, entity, version, found) VALUES ($1, $2, $3, $4) \
ON CONFLICT (projection, entity) DO UPDATE SET found = own.version, \
version = greatest(own.version, excluded.version) \
RETURNING found";

pub(super) const RESET: &str = "\
INSERT INTO idem_version (projection, entity, version, found) VALUES ($1, $2, $3, $4) \
ON CONFLICT (projection, entity) DO UPDATE SET version = excluded.version";

/// One row for each reason why the table is unfit.
pub(super) const UNFIT: &str = "\
WITH o AS (SELECT c.oid, c.relpersistence, c.relkind FROM pg_class c WHERE c.oid = to_regclass('idem_version'))
SELECT 'there is no such table' WHERE NOT EXISTS (SELECT FROM o)
UNION ALL SELECT 'it is not an ordinary, logged table' FROM o WHERE relpersistence <> 'p' OR relkind <> 'r'
UNION ALL SELECT 'it has no unique index on exactly (projection, entity), valid, immediate and compared byte for byte' FROM o
    WHERE NOT EXISTS (SELECT FROM pg_index x
        WHERE x.indrelid = o.oid AND x.indisunique AND x.indisvalid AND x.indimmediate AND x.indpred IS NULL
          AND (SELECT array_agg(a.attname::text ORDER BY a.attname)
                 FROM unnest(x.indkey::int2[]) WITH ORDINALITY k(attnum, place)
                 JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.attnum
                WHERE k.place <= x.indnkeyatts) = '{entity,projection}'
          AND NOT EXISTS (SELECT FROM unnest(x.indcollation::oid[]) n(oid) JOIN pg_collation l ON l.oid = n.oid
                           WHERE NOT l.collisdeterministic))
UNION ALL SELECT format('its column %s is not a bigint', w.name) FROM o, (VALUES ('version'), ('found')) w(name)
    WHERE NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = o.oid AND a.attname = w.name AND a.attnum > 0
                         AND NOT a.attisdropped AND a.atttypid = 'pg_catalog.int8'::regtype)";
