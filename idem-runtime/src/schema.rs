//! The record's table: its migrations as text, and the checks made before it is relied on.
//!
//! The schema is the consumer's. The same text ships as files in `migrations/`, ready for `sqlx
//! migrate`, refinery or Flyway; nothing is created behind anybody's back. [`create_if_missing`] is
//! for tests and first steps.
//!
//! The table must live where one constraint arbitrates: one writable primary, or a cluster that
//! certifies uniqueness. Under multi-master replication two nodes accept one key twice, and no
//! library can undo that.

use crate::error::{Error, Field, Invalid, Reason, SchemaFinding};
use crate::identity::Identity;
use crate::key::{IdempotencyKey, Scope};
use crate::spec::{DEFAULT_TABLE, is_table};
use crate::store::{AsSession, Ask, Migrate, Session};

/// The migration for PostgreSQL 14 and later, for the default table.
#[cfg(feature = "postgres")]
pub fn postgres() -> &'static str {
    include_str!("../migrations/postgres/0001_idem_record.sql")
}

/// The migration for MySQL 8.0.16 and later and MariaDB 10.6 and later, for the default table.
#[cfg(feature = "mysql")]
pub fn mysql() -> &'static str {
    include_str!("../migrations/mysql/0001_idem_record.sql")
}

/// The migration for SQLite 3.37 and later, for the default table.
#[cfg(feature = "sqlite")]
pub fn sqlite() -> &'static str {
    include_str!("../migrations/sqlite/0001_idem_record.sql")
}

/// The longest table's name that leaves room for `_locked_until` within MySQL's 64 characters.
#[cfg(feature = "mysql")]
const MYSQL_TABLE_MAX: usize = 51;

/// A migration's text for another table: `[schema.]name`.
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
/// [`Invalid`] of [`Field::Table`] for a table that is no such identifier; on MySQL and MariaDB, which
/// refuse longer names where others cut them, also for one of more than 51 bytes.
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
        // What is created takes the schema; what it refers to is looked up beside it and cannot.
        let text = migration.replace(DEFAULT_TABLE, name);
        return Ok(["TABLE", "INDEX", "VIEW"].iter().fold(text, |text, kind| {
            text.replace(
                &format!("CREATE {kind} {name}"),
                &format!("CREATE {kind} {schema}{dot}{name}"),
            )
        }));
    }
    // Indexes and constraints take the schema of their table and are named without it; table and
    // view are named with it.
    Ok(migration
        .replace(
            &format!("VIEW {DEFAULT_TABLE}_"),
            &format!("VIEW {schema}{dot}{name}_"),
        )
        .replace(&format!("{DEFAULT_TABLE}_"), "\u{0}_")
        .replace(DEFAULT_TABLE, table)
        .replace('\u{0}', name))
}

/// Creates the default table, its indexes and its view, unless the table is there already. For
/// tests and first steps; in production, run the migration.
///
/// `conn` is a connection, one acquired from a pool, or a transaction.
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
/// The database's.
pub async fn create_if_missing<C>(conn: &mut C) -> Result<(), Error>
where
    C: AsSession<Session: Migrate>,
{
    create_table_if_missing(conn, DEFAULT_TABLE).await
}

/// As [`create_if_missing`], for another table.
///
/// # Errors
/// [`Error::Invalid`] for a table that is no identifier; else the database's.
pub async fn create_table_if_missing<C>(conn: &mut C, table: &str) -> Result<(), Error>
where
    C: AsSession<Session: Migrate>,
{
    let migration = for_table(<C::Session as Migrate>::MIGRATION, table)?;
    conn.session().create(table, migration).await
}

/// Checks that the default table is fit to arbitrate. The library does so by itself before a body
/// first runs; call this at start-up to hear of it earlier.
///
/// Returns what is worth knowing and no reason to refuse: tables beside the records whose contents are
/// not as safe as they. They are looked for in the database (PostgreSQL: the schemas) that the
/// connection is in, and only here.
///
/// # Errors
/// [`Error::Schema`] saying what is unfit; and the database's.
pub async fn verify<C: AsSession>(conn: &mut C) -> Result<Vec<SchemaFinding>, Error> {
    verify_table(conn, DEFAULT_TABLE).await
}

/// As [`verify`], for another table.
///
/// # Errors
/// [`Error::Invalid`] for a table that is no identifier; else as [`verify`].
pub async fn verify_table<C: AsSession>(
    conn: &mut C,
    table: &str,
) -> Result<Vec<SchemaFinding>, Error> {
    if !is_table(table) {
        return Err(Invalid::new(Field::Table, Reason::Identifier).into());
    }
    let key = "verify".parse::<IdempotencyKey>()?;
    let ask = Ask::new(
        table.to_owned(),
        Identity::of_operation("idem", Scope::GLOBAL, key),
    );
    let conn = conn.session();
    let (_, held) = conn.look_up(&ask).await?.split(ask);
    conn.verify(&held).await?;
    conn.findings(&held).await
}

#[cfg(all(test, feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod tests {
    use super::*;
    use crate::spec::TABLE_MAX;

    /// The names that a migration gives to table, indexes, constraints and view.
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
