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

pub(super) const RESET: &str = "\
INSERT INTO idem_version (projection, entity, version) VALUES (?, ?, ?) \
ON DUPLICATE KEY UPDATE version = ?";
