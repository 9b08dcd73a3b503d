//! The record's table: its migrations as text, and the checks that the library runs before it
//! relies on the table.
//!
//! The schema belongs to the application. The same text ships as files in `migrations/`, for
//! `sqlx migrate`, refinery or Flyway. The library creates nothing by itself; [`create_if_missing`]
//! is for tests and first steps.
//!
//! The table must be in a database in which one unique constraint holds for all writers: one
//! writable primary, or a cluster that certifies uniqueness. With multi-master replication two
//! nodes can accept the same key, and the library cannot undo that.

use crate::stores::claim::ClaimRequest;
use crate::stores::session::Migrate;
use crate::stores::{AsSession, Session};
use crate::values::error::{Error, Field, Invalid, Reason, SchemaFinding};
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, Scope};
use crate::values::spec::{DEFAULT_TABLE, is_table};

/// Returns the migration for PostgreSQL 14 and later, for the default table.
#[cfg(feature = "postgres")]
pub fn postgres() -> &'static str {
    include_str!("../../migrations/postgres/0001_idem_record.sql")
}

/// Returns the migration for MySQL 8.0.16 and later and MariaDB 10.6 and later, for the default
/// table.
#[cfg(feature = "mysql")]
pub fn mysql() -> &'static str {
    include_str!("../../migrations/mysql/0001_idem_record.sql")
}

/// Returns the migration for SQLite 3.37 and later, for the default table.
#[cfg(feature = "sqlite")]
pub fn sqlite() -> &'static str {
    include_str!("../../migrations/sqlite/0001_idem_record.sql")
}

/// The longest table name on MySQL, in bytes: with `_locked_until` appended it has 64 characters,
/// MySQL's limit.
#[cfg(feature = "mysql")]
const MYSQL_TABLE_MAX: usize = 51;

/// Returns the text of a migration for another table: `[schema.]name`.
///
/// ```
/// # #[cfg(feature = "sqlite")] {
/// use idem_runtime::schema;
///
/// let text = schema::for_table(schema::sqlite(), "billing_record").unwrap();
/// assert!(text.contains("CREATE TABLE billing_record ("));
/// # }
/// ```
///
/// # Errors
/// [`Invalid`] of [`Field::Table`] if the table is no such identifier. For the migration of MySQL
/// and MariaDB also if the name is longer than 51 bytes: these databases refuse longer index names,
/// while others cut them.
pub fn for_table(migration: &str, table: &str) -> Result<String, Invalid> {
    if !is_table(table) {
        return Err(Invalid::new(Field::Table, Reason::Identifier));
    }
    let (schema, name) = table
        .rsplit_once('.')
        .map_or(("", table), |(schema, name)| (schema, name));
    #[cfg(feature = "mysql")]
    if migration == mysql() && name.len() > MYSQL_TABLE_MAX {
        let reason = Reason::TooLong {
            limit: MYSQL_TABLE_MAX,
            length: name.len(),
        };
        return Err(Invalid::new(Field::Table, reason));
    }
    let dot = if schema.is_empty() { "" } else { "." };
    #[cfg(feature = "sqlite")]
    if migration == sqlite() {
        // `CREATE` takes the schema; a table named inside such a statement is looked up in the same
        // schema and must be written without it.
        let text = migration.replace(DEFAULT_TABLE, name);
        return Ok(["TABLE", "INDEX", "VIEW"].iter().fold(text, |text, kind| {
            text.replace(
                &format!("CREATE {kind} {name}"),
                &format!("CREATE {kind} {schema}{dot}{name}"),
            )
        }));
    }
    // Indexes and constraints belong to the schema of their table and are named without it. Table,
    // view and function are named with it.
    let text = ["VIEW", "FUNCTION"]
        .iter()
        .fold(migration.to_owned(), |text, kind| {
            text.replace(
                &format!("{kind} {DEFAULT_TABLE}_"),
                &format!("{kind} {schema}{dot}{name}_"),
            )
        });
    Ok(text
        .replace(&format!("{DEFAULT_TABLE}_"), "\u{0}_")
        .replace(DEFAULT_TABLE, table)
        .replace('\u{0}', name))
}

/// Creates the default table, its indexes and its view, unless the table exists. For tests and
/// first steps; in production, run the migration.
///
/// `conn` is a connection, a pooled connection, or a transaction.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # async fn example(pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
/// use idem_runtime::schema;
///
/// let mut conn = pool.acquire().await?;
/// schema::create_if_missing(&mut conn).await?;
/// schema::verify(&mut conn).await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// Any error of the database.
pub async fn create_if_missing<C>(conn: &mut C) -> Result<(), Error>
where
    C: AsSession<Session: Migrate>,
{
    create_table_if_missing(conn, DEFAULT_TABLE).await
}

/// Creates another table as [`create_if_missing`] does.
///
/// # Errors
/// - [`Error::Invalid`] if `table` is no identifier.
/// - Any error of the database.
pub async fn create_table_if_missing<C>(conn: &mut C, table: &str) -> Result<(), Error>
where
    C: AsSession<Session: Migrate>,
{
    let migration = for_table(<C::Session as Migrate>::MIGRATION, table)?;
    conn.session().create(table, migration).await
}

/// Checks that the default table enforces one record per key. The library does so by itself before
/// the first body runs; call this function at start-up to detect a fault earlier.
///
/// Returns findings that are no reason to refuse the table: other tables whose contents are less
/// durable than the records, and row security that applies to the connection's account. Only this
/// function looks for them, in the database of the connection (PostgreSQL: in the schemas of its
/// `search_path` and in that of the record's table).
///
/// # Errors
/// - [`Error::Schema`] if the table is unfit, with the reasons.
/// - Any error of the database.
pub async fn verify<C: AsSession>(conn: &mut C) -> Result<Vec<SchemaFinding>, Error> {
    verify_table(conn, DEFAULT_TABLE).await
}

/// Checks another table as [`verify`] does.
///
/// # Errors
/// - [`Error::Invalid`] if `table` is no identifier.
/// - The errors of [`verify`].
pub async fn verify_table<C: AsSession>(
    conn: &mut C,
    table: &str,
) -> Result<Vec<SchemaFinding>, Error> {
    if !is_table(table) {
        return Err(Invalid::new(Field::Table, Reason::Identifier).into());
    }
    let key = "verify".parse::<IdempotencyKey>()?;
    let claim_request = ClaimRequest::new(
        table.to_owned(),
        Identity::of_operation("idem", Scope::GLOBAL, key),
    );
    let conn = conn.session();
    let held = conn.look_up(&claim_request).await?.claim;
    conn.verify(&held).await?;
    conn.findings(&held).await
}

#[cfg(all(test, feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod tests {
    use super::*;
    use crate::values::spec::TABLE_MAX;

    /// Returns the names that a migration gives to its table, indexes, constraints and view.
    fn names(migration: &str, table: &str) -> Vec<String> {
        let code = migration
            .lines()
            .filter(|line| !line.trim_start().starts_with("--"));
        let code: Vec<&str> = code.collect();
        let code = code.join("\n").replace(DEFAULT_TABLE, table);
        let words = code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let mut names: Vec<String> = words
            .filter(|word| word.starts_with(table))
            .map(ToOwned::to_owned)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn are_told_apart(names: &[String], at: usize) -> bool {
        let mut cut: Vec<_> = names
            .iter()
            .map(|name| &name[..name.len().min(at)])
            .collect();
        cut.sort_unstable();
        cut.dedup();
        cut.len() == names.len()
    }

    #[test]
    fn the_longest_table_is_the_last_whose_names_are_told_apart_at_63_bytes() {
        for migration in [postgres(), mysql(), sqlite()] {
            assert!(names(migration, "t_t").len() >= 4);
            assert!(are_told_apart(
                &names(migration, &"t".repeat(TABLE_MAX)),
                63
            ));
            assert!(!are_told_apart(
                &names(migration, &"t".repeat(TABLE_MAX + 1)),
                63
            ));
        }
    }

    #[test]
    fn mysqls_longest_table_is_the_last_whose_names_it_takes() {
        let longest = |length: usize| {
            let names = names(mysql(), &"t".repeat(length));
            names.iter().map(String::len).max().unwrap_or_default()
        };
        assert_eq!(longest(MYSQL_TABLE_MAX), 64);
        assert!(for_table(mysql(), &"t".repeat(MYSQL_TABLE_MAX)).is_ok());
        let refused = for_table(mysql(), &"t".repeat(MYSQL_TABLE_MAX + 1)).unwrap_err();
        assert_eq!(refused.field(), &Field::Table);
        assert!(for_table(postgres(), &"t".repeat(MYSQL_TABLE_MAX + 1)).is_ok());
    }
}
