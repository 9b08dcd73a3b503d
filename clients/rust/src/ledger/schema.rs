//! The ledger's tables: their migrations as text, and the checks of them.
//!
//! The schema belongs to the application. The same texts ship as files in `migrations/`, for `sqlx migrate`, refinery or
//! Flyway. The library creates nothing by itself; [`create_if_missing`] is for tests and first steps.

use idem_messaging::outbox::{Outbox, schema as outbox};
use sqlx::Connection;

use super::error::LedgerError;
use super::store::{LedgerDatabase, dialect::Statements as _};

/// The table of the queue.
const QUEUE: &str = "idem_ledger_outbox";

pub(super) fn queue() -> Outbox {
    // The name is a constant, which a test looks at.
    Outbox::new().table(QUEUE).unwrap_or_default()
}

/// Returns the migrations for PostgreSQL 14 and later: the ledger, and its queue.
#[cfg(feature = "postgres")]
pub fn postgres() -> [&'static str; 2] {
    [
        include_str!("../../migrations/postgres/0001_idem_ledger.sql"),
        include_str!("../../migrations/postgres/0002_idem_ledger_outbox.sql"),
    ]
}

/// Returns the migrations for MySQL 8.0.16 and later and MariaDB 10.6 and later: the ledger, and its queue.
#[cfg(feature = "mysql")]
pub fn mysql() -> [&'static str; 2] {
    [
        include_str!("../../migrations/mysql/0001_idem_ledger.sql"),
        include_str!("../../migrations/mysql/0002_idem_ledger_outbox.sql"),
    ]
}

/// Returns the migrations for SQLite 3.37 and later: the ledger, and its queue.
#[cfg(feature = "sqlite")]
pub fn sqlite() -> [&'static str; 2] {
    [
        include_str!("../../migrations/sqlite/0001_idem_ledger.sql"),
        include_str!("../../migrations/sqlite/0002_idem_ledger_outbox.sql"),
    ]
}

/// Creates both tables and their indexes, unless they exist. For tests and first steps; in production, run the migrations.
///
/// # Errors
/// Any error of the database.
pub async fn create_if_missing<C>(conn: &mut C) -> Result<(), LedgerError>
where
    C: Connection<Database: LedgerDatabase>,
{
    C::Database::create_ledger(conn).await?;
    Ok(outbox::create_table_if_missing(conn, QUEUE).await?)
}

/// Checks that the tables keep one request of an id, and one answer of a request. Call it at start-up.
///
/// # Errors
/// - [`LedgerError::Schema`] and [`OutboxError::Schema`](idem_messaging::outbox::OutboxError::Schema) with the reasons.
/// - Any error of the database.
pub async fn verify<C>(conn: &mut C) -> Result<(), LedgerError>
where
    C: Connection<Database: LedgerDatabase>,
{
    let findings = C::Database::verify_ledger(conn).await?;
    if !findings.is_empty() {
        return Err(LedgerError::Schema { findings });
    }
    Ok(outbox::verify_table(conn, QUEUE).await?)
}

#[cfg(all(test, feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod tests {
    use idem_messaging::outbox::schema as outbox;

    use super::{QUEUE, mysql, postgres, sqlite};

    #[test]
    fn the_queue_is_an_outbox_of_another_name() {
        let pairs = [
            (postgres(), outbox::postgres()),
            (mysql(), outbox::mysql()),
            (sqlite(), outbox::sqlite()),
        ];
        for ([_, queue], migration) in pairs {
            let expected = outbox::for_table(migration, QUEUE).expect("a name");
            assert_eq!(queue, expected);
        }
    }
}
