//! Checks the columns of the table: those that the library knows, and those that it does not.

use sqlx::Row as _;
use sqlx::mysql::{MySqlConnection, MySqlRow};

use super::super::{error, rows, sql};
use super::said;
use crate::values::error::{Error, SchemaFault};

/// The requirements on a column that holds what the library writes.
struct Wanted {
    name: &'static str,
    /// The type in the migration.
    kind: &'static str,
    /// The types that are wide enough.
    types: &'static [&'static str],
    /// The length in bytes; 0: the type alone decides.
    length: u64,
    null: Null,
}

/// Whether the library leaves the column null.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Null {
    /// Never, and the column must be NOT NULL: in a key, two nulls would be two keys.
    Never,
    /// Never, but the column may be nullable all the same.
    Whatever,
    Sometimes,
}

const fn wanted(
    name: &'static str,
    kind: &'static str,
    types: &'static [&'static str],
    length: u64,
    null: Null,
) -> Wanted {
    Wanted {
        name,
        kind,
        types,
        length,
        null,
    }
}

const SMALL: &[&str] = &["smallint", "mediumint", "int", "bigint"];

/// Names are bytes and long enough: otherwise a collation or a session that is not strict would make two keys
/// one. Payloads are bytes that nothing cuts.
const COLUMNS: [Wanted; 18] = [
    wanted(
        "namespace",
        "VARBINARY(64)",
        &["varbinary"],
        64,
        Null::Never,
    ),
    wanted(
        "scope",
        "VARBINARY(1020)",
        &["varbinary"],
        1020,
        Null::Never,
    ),
    wanted("key", "VARBINARY(1020)", &["varbinary"], 1020, Null::Never),
    wanted(
        "operation",
        "VARBINARY(1020)",
        &["varbinary"],
        1020,
        Null::Never,
    ),
    wanted("attempt_id", "BINARY(16)", &["binary"], 16, Null::Never),
    wanted("request", "LONGBLOB", &["longblob"], 0, Null::Sometimes),
    wanted("on_lapse", "SMALLINT", SMALL, 0, Null::Sometimes),
    wanted("result", "LONGBLOB", &["longblob"], 0, Null::Sometimes),
    wanted("failure", "LONGBLOB", &["longblob"], 0, Null::Sometimes),
    wanted(
        "fingerprint",
        "VARBINARY(32)",
        &["varbinary"],
        32,
        Null::Sometimes,
    ),
    wanted("created_at", "BIGINT", &["bigint"], 0, Null::Whatever),
    wanted("expires_at", "BIGINT", &["bigint"], 0, Null::Whatever),
    wanted("locked_until", "BIGINT", &["bigint"], 0, Null::Sometimes),
    wanted(
        "session_id",
        "BIGINT UNSIGNED",
        &["bigint"],
        0,
        Null::Sometimes,
    ),
    wanted("attempt", "INT", &["int", "bigint"], 0, Null::Whatever),
    wanted("status", "SMALLINT", SMALL, 0, Null::Whatever),
    wanted("fingerprint_version", "SMALLINT", SMALL, 0, Null::Whatever),
    wanted("codec", "SMALLINT", SMALL, 0, Null::Whatever),
];

/// A column as the catalogue describes it.
struct ColumnRow {
    name: String,
    kind: String,
    written: String,
    length: u64,
    nullable: bool,
    generated: bool,
    supplied: bool,
}

impl ColumnRow {
    fn read(row: &MySqlRow) -> Result<Self, Error> {
        let says = |fact: &str| row.try_get::<i64, _>(fact).map_err(error::map_error);
        Ok(Self {
            name: said(row, "name").to_ascii_lowercase(),
            kind: said(row, "kind").to_ascii_lowercase(),
            written: said(row, "written"),
            length: says("length")?.try_into().unwrap_or(0),
            nullable: says("nullable")? != 0,
            generated: says("is_generated")? != 0,
            supplied: says("supplied")? != 0,
        })
    }

    fn is_unsigned(&self) -> bool {
        self.written.to_ascii_lowercase().contains("unsigned")
    }
}

pub(super) async fn check(conn: &mut MySqlConnection, table: &str) -> Result<(), Error> {
    let text = sql::verify::columns(table);
    let rows = rows(conn, text).await.map_err(error::map_error)?;
    let found: Vec<_> = rows.iter().map(ColumnRow::read).collect::<Result<_, _>>()?;
    let fault = |column: &str, fault, fix: String| {
        Err(SchemaFault::Column {
            table: table.to_owned(),
            column: column.to_owned(),
            fault,
            fix: format!("ALTER TABLE {table} {fix}"),
        }
        .into())
    };
    for wanted in &COLUMNS {
        let Wanted { name, kind, .. } = *wanted;
        let null = if wanted.null == Null::Sometimes {
            ""
        } else {
            " NOT NULL"
        };
        let Some(column) = found.iter().find(|column| column.name == name) else {
            let fix = format!("ADD COLUMN `{name}` {kind}{null}");
            return fault(name, "is missing, or is not of the migration's type", fix);
        };
        let modify = format!("MODIFY `{name}` {kind}{null}");
        if !wanted.types.contains(&column.kind.as_str())
            || column.length < wanted.length
            || (column.is_unsigned() && name != "session_id")
        {
            return fault(
                name,
                "is missing, or is not of the migration's type",
                modify,
            );
        }
        if column.generated {
            return fault(name, "is generated, and cannot be written", modify);
        }
        match wanted.null {
            Null::Never if column.nullable => {
                return fault(name, "may be null, and must not", modify);
            }
            Null::Sometimes if !column.nullable => {
                return fault(name, "is NOT NULL, and the library leaves it null", modify);
            }
            _ => {}
        }
    }
    let unknown = |column: &&ColumnRow| COLUMNS.iter().all(|wanted| wanted.name != column.name);
    let blocks = |column: &&ColumnRow| !(column.nullable || column.supplied || column.generated);
    match found.iter().filter(unknown).find(blocks) {
        None => Ok(()),
        Some(column) => {
            let what = "is NOT NULL and has no default, and the library does not know it";
            let fix = format!("MODIFY `{}` {} NULL", column.name, column.written);
            fault(&column.name, what, fix)
        }
    }
}
