//! The statements of the library's own unit of work on a pool's file.
//!
//! What is asked at one time is one text, which the connection keeps prepared. A text that names an attempt would be
//! prepared anew by each call, so all units of a process have one savepoint: it is the first of its transaction,
//! and no other unit is in it. Its name is random, so that no body sets or releases it by chance.

use std::sync::LazyLock;

use uuid::Uuid;

use super::super::super::session::BodyWrites;
use super::{COLUMNS, NOW, full, parts, take_write_lock, write};

static SAVEPOINT: LazyLock<String> =
    LazyLock::new(|| format!("idem_unit_{}", Uuid::new_v4().simple()));

const IS_THE_KEYS: &str = "r.namespace = ?1 AND r.scope = ?2 AND r.key = ?3";

/// Looks the record up outside a transaction. Returns its columns, the clock and whether uncommitted changes of
/// others are read, or no row.
pub(in super::super) fn probe(table: &str, shares_cache: bool) -> String {
    let dirty = if shares_cache {
        "(SELECT read_uncommitted FROM pragma_read_uncommitted)"
    } else {
        // A connection reads the uncommitted changes only of those that share its cache.
        "0"
    };
    format!(
        "SELECT {NOW} AS now, {dirty} AS dirty, {COLUMNS} FROM {} AS r WHERE {IS_THE_KEYS}",
        full(table)
    )
}

/// Takes the write lock, sets the savepoint, and looks the record up. Returns a row with the number of the
/// schema's last change, a row with the journal mode, a row with the record's columns if there is one, and a row of
/// nulls for each trigger of the connection's own.
pub(in super::super) fn claim(table: &str) -> String {
    let (schema, name) = parts(table);
    format!(
        "{}; SAVEPOINT {}; PRAGMA {schema}.schema_version; PRAGMA {schema}.journal_mode; \
         SELECT {NOW} AS now, {COLUMNS} FROM {} AS r WHERE {IS_THE_KEYS} \
         UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
         FROM temp.sqlite_schema WHERE type = 'trigger' AND tbl_name = '{name}' COLLATE NOCASE",
        take_write_lock(table),
        *SAVEPOINT,
        full(table),
    )
}

/// The numbers of those statements of [`claim`] whose rows are read. A setting of the connection
/// (`count_changes`) gives rows to others.
pub(in super::super) const SCHEMA_VERSION: usize = 2;
pub(in super::super) const JOURNAL_MODE: usize = 3;
pub(in super::super) const LOOK_UP: usize = 4;

/// Releases the savepoint, and writes the record if no other file is attached.
pub(in super::super) fn record(table: &str, replaces: bool, body_writes: BodyWrites) -> String {
    format!(
        "{}; {}",
        end_savepoint(body_writes),
        write(table, replaces, true)
    )
}

/// Releases the savepoint; fails if the body has ended the transaction.
pub(in super::super) fn end_savepoint(body_writes: BodyWrites) -> String {
    let name = &*SAVEPOINT;
    match body_writes {
        BodyWrites::Keep => format!("RELEASE SAVEPOINT {name}"),
        BodyWrites::Discard => {
            format!("ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}")
        }
    }
}

/// Returns how many statements [`end_savepoint`] has.
pub(in super::super) const fn statements_to_end_savepoint(body_writes: BodyWrites) -> usize {
    match body_writes {
        BodyWrites::Keep => 1,
        BodyWrites::Discard => 2,
    }
}
