//! Checks the columns of the table: those that the library knows, and those that it does not.

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::super::error::map_error;
use super::super::sql::{self, parts};
use super::anew;
use crate::values::error::{Error, SchemaFault};

/// The kind of value that a column stores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of type TEXT: under a numeric affinity `1` and `1.0` are one key.
    Text,
    /// Of an integer affinity: a float has no room for every time.
    Integer,
    /// Of no affinity.
    Bytes,
}

impl Kind {
    fn holds(self, declared: &str) -> bool {
        let declared = declared.to_ascii_uppercase();
        match self {
            Self::Text => declared == "TEXT",
            Self::Integer => declared.contains("INT"),
            Self::Bytes => declared.is_empty() || declared == "ANY" || declared.contains("BLOB"),
        }
    }

    fn fault(self) -> &'static str {
        match self {
            Self::Text => "must be TEXT NOT NULL",
            Self::Integer => "must be INTEGER",
            Self::Bytes => "must be BLOB",
        }
    }
}

/// The columns of the key. They must not be null: no null equals another, so two records would fit.
const NAMES: &[&str] = &["namespace", "scope", "key"];

/// The columns that a statement compares.
pub(super) const COMPARED: &[&str] = &["namespace", "scope", "key", "operation"];

/// The other columns, and whether the library leaves each null.
const COLUMNS: [(&str, Kind, bool); 14] = [
    ("operation", Kind::Text, false),
    ("attempt_id", Kind::Bytes, false),
    ("attempt", Kind::Integer, false),
    ("status", Kind::Integer, false),
    ("fingerprint_version", Kind::Integer, false),
    ("codec", Kind::Integer, false),
    ("created_at", Kind::Integer, false),
    ("expires_at", Kind::Integer, false),
    ("locked_until", Kind::Integer, true),
    ("on_lapse", Kind::Integer, true),
    ("fingerprint", Kind::Bytes, true),
    ("request", Kind::Bytes, true),
    ("result", Kind::Bytes, true),
    ("failure", Kind::Bytes, true),
];

/// A column as SQLite describes it.
struct TableInfoRow {
    name: String,
    declared: String,
    not_null: bool,
    generated: bool,
    supplied: bool,
}

impl TableInfoRow {
    fn read(row: &SqliteRow) -> Result<Self, Error> {
        let declared: String = row.try_get("declared").map_err(map_error)?;
        let key: i64 = row.try_get("part").map_err(map_error)?;
        let hidden: i64 = row.try_get("hidden").map_err(map_error)?;
        let has_default: bool = row.try_get("supplied").map_err(map_error)?;
        Ok(Self {
            name: row.try_get("name").map_err(map_error)?,
            not_null: row.try_get("required").map_err(map_error)?,
            // 2 is a virtual generated column, 3 a stored one.
            generated: hidden > 1,
            // SQLite gives a value to a column that is the rowid.
            supplied: has_default || (key == 1 && declared.eq_ignore_ascii_case("integer")),
            declared,
        })
    }
}

pub(super) async fn check(conn: &mut SqliteConnection, table: &str) -> Result<(), Error> {
    let (schema, name) = parts(table);
    let rows = sqlx::query(sql::verify::COLUMNS)
        .bind(name)
        .bind(schema)
        .fetch_all(conn)
        .await
        .map_err(map_error)?;
    let found: Vec<_> = rows
        .iter()
        .map(TableInfoRow::read)
        .collect::<Result<_, _>>()?;
    let fault = |column: &str, fault, fix| {
        Err(SchemaFault::Column {
            table: table.to_owned(),
            column: column.to_owned(),
            fault,
            fix,
        }
        .into())
    };
    let names = NAMES.iter().map(|name| (*name, Kind::Text, false));
    for (wanted, kind, leaves_null) in names.chain(COLUMNS) {
        let Some(column) = found.iter().find(|column| column.name == wanted) else {
            return fault(wanted, "is missing", anew(name));
        };
        if !kind.holds(&column.declared) || (NAMES.contains(&wanted) && !column.not_null) {
            return fault(wanted, kind.fault(), anew(name));
        }
        if column.generated {
            return fault(wanted, "is generated, and cannot be written", anew(name));
        }
        if leaves_null && column.not_null {
            let what = "is NOT NULL, and the library leaves it null";
            return fault(wanted, what, anew(name));
        }
    }
    let is_known = |column: &TableInfoRow| {
        let name = column.name.as_str();
        NAMES.contains(&name) || COLUMNS.iter().any(|(known, ..)| *known == name)
    };
    let blocks = |column: &&TableInfoRow| {
        column.not_null && !column.supplied && !column.generated && !is_known(column)
    };
    match found.iter().find(blocks) {
        None => Ok(()),
        Some(column) => {
            let what = "is NOT NULL and has no default, and the library does not know it";
            let fix = format!("ALTER TABLE {table} DROP COLUMN \"{}\"", column.name);
            fault(&column.name, what, fix)
        }
    }
}
