//! The statements.
//!
//! Under READ COMMITTED an UPDATE that met a row of another transaction waits for its COMMIT and computes from the row as it is then.
//! Therefore `found` is the version that the decision was made from, and not one of an older snapshot.

pub(super) const INSERT_OR_ADVANCE: &str = "\
INSERT INTO idem_version AS own (projection, entity, version, found) VALUES ($1, $2, $3, $4) \
ON CONFLICT (projection, entity) DO UPDATE SET found = own.version, \
version = CASE WHEN own.version = excluded.version - 1 THEN excluded.version ELSE own.version END \
RETURNING found";

pub(super) const ADVANCE: &str = "\
UPDATE idem_version SET found = version, version = CASE WHEN version = $3 - 1 THEN $3 ELSE version END \
WHERE projection = $1 AND entity = $2 RETURNING found";

pub(super) const RESET: &str = "\
INSERT INTO idem_version (projection, entity, version, found) VALUES ($1, $2, $3, $4) \
ON CONFLICT (projection, entity) DO UPDATE SET version = excluded.version";
