//! What laws send as text to a database of any kind.

use sqlx::{AssertSqlSafe, Executor as _, Pool};

/// A database to which laws send text.
pub trait Dialect: sqlx::Database {
    /// One hour, as a value of the columns of times.
    const HOUR: &'static str;
    /// The database's clock, in the same form.
    const NOW: &'static str;

    /// Runs statements.
    ///
    /// # Panics
    ///
    /// Panics if the database refuses one.
    fn run(pool: &Pool<Self>, sql: &str) -> impl Future<Output = ()> + Send;

    /// Returns one number.
    ///
    /// # Panics
    ///
    /// Panics if the database refuses the query, or answers without one.
    fn number(pool: &Pool<Self>, sql: &str) -> impl Future<Output = i64> + Send;

    /// Returns one value of bytes.
    ///
    /// # Panics
    ///
    /// Panics if the database refuses the query, or answers without one.
    fn bytes(pool: &Pool<Self>, sql: &str) -> impl Future<Output = Vec<u8>> + Send;
}

macro_rules! dialect {
    ($database:ty, hour = $hour:literal, now = $now:literal) => {
        impl Dialect for $database {
            const HOUR: &'static str = $hour;
            const NOW: &'static str = $now;

            async fn run(pool: &Pool<Self>, sql: &str) {
                let statements = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
                let done = pool.execute(statements).await;
                done.unwrap_or_else(|error| panic!("{sql}: {error}"));
            }

            async fn number(pool: &Pool<Self>, sql: &str) -> i64 {
                let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()));
                let number = query.fetch_one(pool).await;
                number.unwrap_or_else(|error| panic!("{sql}: {error}"))
            }

            async fn bytes(pool: &Pool<Self>, sql: &str) -> Vec<u8> {
                let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()));
                let bytes = query.fetch_one(pool).await;
                bytes.unwrap_or_else(|error| panic!("{sql}: {error}"))
            }
        }
    };
}

dialect!(
    sqlx::Postgres,
    hour = "interval '1 hour'",
    now = "clock_timestamp()"
);
dialect!(
    sqlx::MySql,
    hour = "3600000000",
    now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
);
dialect!(
    sqlx::Sqlite,
    hour = "3600000000",
    now = "(CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000)"
);
