//! Checks once per connection, before its first body, that the table is fit to arbitrate.

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};

use super::error::map_error;
use super::sql::verify as sql;
use super::statement::Statement;
use crate::values::error::{Error, SchemaFault, SchemaFinding};

pub(super) async fn table(
    conn: &mut PgConnection,
    table: &str,
    table_oid: i64,
) -> Result<(), Error> {
    let row = Statement::new(sql::check(), false)
        .bind(table_oid)
        .fetch_one(&mut *conn)
        .await
        .map_err(map_error)?;
    permanence(&row, table)?;
    column(&row, table, "misfit")?;
    arbiter(&row, table)?;
    column(&row, table, "collated")?;
    writes(&row, table)?;
    // Kept for the session, so that the next unit of work on this connection need not check again.
    Statement::new(sql::REMEMBER.to_owned(), false)
        .bind(table_oid.to_string())
        .execute(conn)
        .await
        .map_err(map_error)?;
    Ok(())
}

/// Checks that the table and all of its partitions are permanent. A child of another kind has rows that the
/// parent's index does not cover, and that a look-up finds all the same.
fn permanence(row: &PgRow, table: &str) -> Result<(), Error> {
    let kind: String = row.try_get("kind").map_err(map_error)?;
    if !matches!(kind.as_str(), "r" | "p") {
        return Err(SchemaFault::NotPermanent {
            table: table.to_owned(),
            found: "not a table",
            fix: format!("name the table itself, in the attribute: table = \"schema.{table}\""),
        }
        .into());
    }
    if let Some([part, persistence, which]) = found(row, "transient")? {
        let (found, fix) = match persistence.as_str() {
            "t" => ("temporary", format!("DROP TABLE {part}")),
            _ => ("unlogged", format!("ALTER TABLE {part} SET LOGGED")),
        };
        let table = if which.is_empty() {
            part
        } else {
            table.to_owned()
        };
        return Err(SchemaFault::NotPermanent { table, found, fix }.into());
    }
    if let Some([child, kind, _]) = found(row, "child")? {
        let (table, found, fix) = if kind == "f" {
            let fix = format!("ALTER TABLE {table} DETACH PARTITION {child}");
            (child, "a foreign table", fix)
        } else {
            let fix = format!("ALTER TABLE {child} NO INHERIT {table}");
            (table.to_owned(), "a parent of other tables", fix)
        };
        return Err(SchemaFault::NotPermanent { table, found, fix }.into());
    }
    Ok(())
}

/// Refuses the table if this check found a column at fault, and names the first.
fn column(row: &PgRow, table: &str, check: &str) -> Result<(), Error> {
    let Some([column, fault, kind]) = found(row, check)? else {
        return Ok(());
    };
    let alter_column = format!("ALTER TABLE {table} ALTER COLUMN {column}");
    let retype = |using: &str| {
        format!(
            "DROP VIEW IF EXISTS {table}_readable; {alter_column} TYPE {kind}{using} (then create the view again)"
        )
    };
    let cast = match kind.as_str() {
        "bytea" => format!(" USING convert_to({column}::text, 'UTF8')"),
        kind => format!(" USING {column}::text::{kind}"),
    };
    let (fault, fix) = match fault.as_str() {
        "missing" => (
            "is missing, or is not of the migration's type",
            format!("ALTER TABLE {table} ADD COLUMN {column} {kind}"),
        ),
        "type" => (
            "is missing, or is not of the migration's type",
            retype(&cast),
        ),
        "length" => ("does not hold what the library writes there", retype("")),
        "collation" => (
            "has a collation under which different keys are equal",
            retype(""),
        ),
        "generated" => (
            "is generated, and cannot be written",
            format!("{alter_column} DROP EXPRESSION"),
        ),
        "identity" => (
            "is generated, and cannot be written",
            format!("{alter_column} DROP IDENTITY"),
        ),
        "null" => (
            "is NOT NULL, and the library leaves it null",
            format!("{alter_column} DROP NOT NULL"),
        ),
        _ => (
            "is NOT NULL and has no default, and the library does not know it",
            match kind.as_str() {
                "" => format!("{alter_column} DROP NOT NULL"),
                domain => format!("ALTER DOMAIN {domain} DROP NOT NULL"),
            },
        ),
    };
    Err(SchemaFault::Column {
        table: table.to_owned(),
        column,
        fault,
        fix,
    }
    .into())
}

fn arbiter(row: &PgRow, table: &str) -> Result<(), Error> {
    if row.try_get::<bool, _>("arbiter").map_err(map_error)? {
        return Ok(());
    }
    let fix = match found(row, "collated")? {
        Some([column, _, kind]) => format!(
            "DROP VIEW IF EXISTS {table}_readable; ALTER TABLE {table} ALTER COLUMN {column} TYPE {kind} \
             (then create the view again)"
        ),
        None => format!("CREATE UNIQUE INDEX ON {table} (namespace, scope, key)"),
    };
    let table = table.to_owned();
    Err(SchemaFault::NoArbiter { table, fix }.into())
}

/// Checks that nothing changes or drops a record on its way into the table. [`findings`] reports the rest.
fn writes(row: &PgRow, table: &str) -> Result<(), Error> {
    if let Some([trigger, part, _]) = found(row, "trigger")? {
        return Err(SchemaFault::Trigger {
            table: table.to_owned(),
            fix: format!("DROP TRIGGER {trigger} ON {part}"),
            trigger,
        }
        .into());
    }
    if let Some([rule, ..]) = found(row, "rule")? {
        return Err(SchemaFault::Rule {
            table: table.to_owned(),
            fix: format!("DROP RULE {rule} ON {table}"),
            rule,
        }
        .into());
    }
    Ok(())
}

/// Returns the finding of a check: three words, or nothing.
fn found(row: &PgRow, check: &str) -> Result<Option<[String; 3]>, Error> {
    let words = row
        .try_get::<Option<Vec<String>>, _>(check)
        .map_err(map_error)?
        .and_then(|words| words.try_into().ok());
    Ok(words)
}

/// Returns the finding for a function that raises no record, with the reason as `sql::raised` writes it.
fn unused_function(function: String, unused: &str) -> SchemaFinding {
    let create = "run the statement CREATE OR REPLACE FUNCTION of the migration";
    let (reason, fix) = match unused {
        "missing" => ("is missing", create.to_owned()),
        "owner" => (
            "does not belong to the table's owner",
            format!("ALTER FUNCTION {function} OWNER TO the owner of the table"),
        ),
        "privilege" => (
            "may not be executed by this account",
            format!("GRANT EXECUTE ON FUNCTION {function} TO this account"),
        ),
        "schema" => (
            "is in a schema whose name is not made of a-z, 0-9 and _",
            "leave it so, or rename the schema".to_owned(),
        ),
        _ => ("is not the migration's", create.to_owned()),
    };
    SchemaFinding::FunctionUnused {
        function,
        reason,
        fix,
    }
}

/// Returns the faults that are reported and not refused: a function that is not used, triggers that run beside the writes, unlogged tables
/// where a body may write, and row security that applies to this account.
pub(super) async fn findings(
    conn: &mut PgConnection,
    table: &str,
    table_oid: i64,
) -> Result<Vec<SchemaFinding>, Error> {
    let rows = Statement::new(sql::beside(), false)
        .bind(table_oid)
        .fetch_all(conn)
        .await
        .map_err(map_error)?;
    let mut findings = Vec::with_capacity(rows.len());
    for row in rows {
        let word = |column: &str| row.try_get::<String, _>(column).map_err(map_error);
        let (kind, name) = (word("kind")?, word("name")?);
        findings.push(match kind.as_str() {
            "trigger" => {
                let trigger = word("detail")?;
                SchemaFinding::Trigger {
                    fix: format!("DROP TRIGGER {trigger} ON {name}"),
                    table: name,
                    trigger,
                }
            }
            "unlogged" => SchemaFinding::Unlogged { table: name },
            "function" => unused_function(name, &word("detail")?),
            _ => SchemaFinding::RowSecurity {
                table: table.to_owned(),
            },
        });
    }
    Ok(findings)
}
