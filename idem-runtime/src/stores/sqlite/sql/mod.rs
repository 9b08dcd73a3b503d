//! The text of every statement. Only a checked table name is ever spliced in.

#[cfg(feature = "operate")]
pub(super) mod doctor;
pub(super) mod hold;
pub(super) mod lapsed;
pub(super) mod lease;
#[cfg(feature = "operate")]
pub(super) mod operate;
#[cfg(feature = "metrics")]
pub(super) mod sample;
pub(super) mod unit;
pub(super) mod verify;

use super::super::lease_sql::{purgeable, reclaimable_of};
use super::super::session::{BodyWrites, Purgeable};
use super::claim::SqliteClaimRequest;

/// Microseconds since the epoch, by the database's clock (to the millisecond: SQLite knows no finer).
pub(super) const NOW: &str =
    "CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000";

/// Returns schema and name of a table.
pub(super) fn parts(table: &str) -> (&str, &str) {
    table.split_once('.').unwrap_or(("main", table))
}

/// Returns whether a table is dropped with its connection.
pub(super) fn is_temporary(table: &str) -> bool {
    parts(table).0 == "temp"
}

/// Returns whether a table is in the file of the connection itself, and not in an attached one.
pub(super) fn is_main(table: &str) -> bool {
    parts(table).0 == "main"
}

pub(super) fn full(table: &str) -> String {
    let (schema, name) = parts(table);
    format!("{schema}.{name}")
}

/// Takes the write lock, and writes nothing.
pub(super) fn take_write_lock(table: &str) -> String {
    format!("DELETE FROM {} WHERE 0", full(table))
}

/// The columns of a record, as `row` reads them: each under its name, even if the session's
/// `short_column_names` would name it otherwise.
pub(super) const COLUMNS: &str = "r.created_at AS created_at, \
     nullif(r.expires_at, 9223372036854775807) AS expires_at, r.locked_until AS locked_until, \
     r.attempt_id AS attempt_id, r.attempt AS attempt, r.status AS status, \
     r.fingerprint_version AS fingerprint_version, r.codec AS codec, r.operation AS operation, \
     r.fingerprint AS fingerprint, r.request AS request, r.result AS result, r.failure AS failure";

/// Returns the text that defines a table, its indexes and triggers, including the session's own; null if there
/// is no such table.
pub(super) fn definition(table: &str) -> String {
    let (schema, name) = parts(table);
    format!(
        "(SELECT group_concat(sql, ';') FROM (SELECT sql FROM {schema}.sqlite_schema \
         WHERE tbl_name = '{name}' COLLATE NOCASE UNION ALL SELECT sql FROM temp.sqlite_schema \
         WHERE type = 'trigger' AND tbl_name = '{name}' COLLATE NOCASE ORDER BY 1))"
    )
}

/// Looks the record up. Returns always one row: the clock, the file, how it is journaled and read, the table's
/// definition, and the record's columns or nulls.
pub(super) fn look_up(table: &str) -> String {
    let (schema, name) = parts(table);
    format!(
        "SELECT {NOW} AS now, \
         coalesce((SELECT file FROM pragma_database_list WHERE name = '{schema}'), '') AS file, \
         coalesce((SELECT journal_mode FROM pragma_journal_mode('{schema}')), '') AS journal, \
         (SELECT read_uncommitted FROM pragma_read_uncommitted) AS dirty, \
         coalesce({}, '') AS definition, \
         {COLUMNS} \
         FROM (SELECT 1) AS one \
         LEFT JOIN {schema}.{name} AS r ON r.namespace = ?1 AND r.scope = ?2 AND r.key = ?3",
        definition(table)
    )
}

/// Writes the record, as the last statement before COMMIT. If a reclaimable record is replaced, the same
/// statement compares it again with the one that was seen. It writes nothing if `alone` and there are other
/// files beside the main one.
pub(super) fn write(table: &str, replaces: bool, alone: bool) -> String {
    let (conflict, guard) = if replaces {
        (
            "ON CONFLICT (namespace, scope, key) DO UPDATE SET created_at = excluded.created_at, \
             expires_at = excluded.expires_at, locked_until = NULL, attempt_id = excluded.attempt_id, \
             attempt = excluded.attempt, status = excluded.status, fingerprint_version = excluded.fingerprint_version, \
             codec = excluded.codec, operation = excluded.operation, fingerprint = excluded.fingerprint, \
             request = excluded.request, result = excluded.result, failure = excluded.failure",
            format!(
                " WHERE r.attempt_id = ?15 AND {}",
                reclaimable_of("r.", NOW)
            ),
        )
    } else {
        ("", String::new())
    };
    let alone = if alone {
        "AND NOT EXISTS (SELECT 1 FROM pragma_database_list WHERE seq > 1)"
    } else {
        ""
    };
    format!(
        "INSERT OR ABORT INTO {} AS r (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
         namespace, scope, key, operation, fingerprint, request, result, failure) \
         SELECT {NOW}, {NOW} + ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14 \
         WHERE (?15 IS NULL) = {} {alone} {conflict}{guard}",
        full(table),
        u8::from(!replaces),
    )
}

/// Deletes one batch of purgeable records, and does not touch leases.
pub(super) fn purge(table: &str, of: Purgeable, has_holds: bool) -> String {
    let (statuses, column, ago) = purgeable(of);
    let is_free = if has_holds {
        hold::is_free(table)
    } else {
        String::new()
    };
    let table = full(table);
    format!(
        "DELETE FROM {table} WHERE (namespace, scope, key) IN (SELECT namespace, scope, key FROM {table} \
         WHERE status IN ({statuses}) AND {column} <= {NOW} - {ago}{is_free} ORDER BY {column} LIMIT ?1)"
    )
}

pub(super) const BEGIN: &str = "BEGIN";

/// Begins, and takes the write lock of every file.
pub(super) const BEGIN_TO_WRITE: &str = "BEGIN IMMEDIATE";

/// Fails inside a transaction ("Safety level may not be changed inside a transaction") and does nothing
/// outside: the temporary schema's level is fixed.
pub(super) const IS_IN_TRANSACTION: &str = "PRAGMA temp.synchronous = OFF";

/// Lists the files of a connection.
pub(super) const FILES: &str = "PRAGMA database_list";

/// Sets the savepoint before the body.
pub(super) fn set_savepoint(request: &SqliteClaimRequest) -> String {
    format!("SAVEPOINT {}", request.savepoint_name())
}

/// Releases the savepoint, after rolling back what the body wrote if `body_writes` says so. Fails if the body has
/// ended the transaction.
pub(super) fn end_savepoint(request: &SqliteClaimRequest, body_writes: BodyWrites) -> String {
    let name = request.savepoint_name();
    match body_writes {
        BodyWrites::Keep => format!("RELEASE SAVEPOINT {name}"),
        BodyWrites::Discard => {
            format!("ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}")
        }
    }
}

pub(super) const ROLLBACK: &str = "ROLLBACK";

/// Lists the files of a connection, whether each has a journal that is written, and their names.
pub(super) const ATTACHED: &str = "SELECT l.seq AS seq, l.name AS name, coalesce(l.file, '') AS file, s.synchronous <> 0 \
         AND j.journal_mode IN ('delete', 'truncate', 'persist') AS journaled \
         FROM pragma_database_list AS l, pragma_journal_mode(l.name) AS j, pragma_synchronous(l.name) AS s \
         WHERE l.seq <> 1 ORDER BY l.seq";

/// Reads a number that changes with each COMMIT of another connection that this one sees.
pub(super) const COMMITS: &str = "PRAGMA data_version";

/// Reads how long the connection waits for a lock, in milliseconds.
pub(super) const BUSY_TIMEOUT: &str = "PRAGMA busy_timeout";

pub(super) fn set_busy_timeout(milliseconds: i64) -> String {
    format!("{BUSY_TIMEOUT} = {milliseconds}")
}

/// Reads the user's own version of a file.
pub(super) fn user_version(file: &str) -> String {
    format!("PRAGMA \"{}\".user_version", file.replace('"', "\"\""))
}

/// Writes that version unchanged, without waiting for a lock.
pub(super) fn set_user_version_at_once(file: &str, version: i64) -> String {
    format!("{BUSY_TIMEOUT} = 0; {} = {version}", user_version(file))
}

/// Reads how durable COMMIT is.
pub(super) fn synchronous(schema: &str) -> String {
    format!("PRAGMA {schema}.synchronous")
}

pub(super) fn set_synchronous(schema: &str, level: i64) -> String {
    format!("PRAGMA {schema}.synchronous = {level}")
}
