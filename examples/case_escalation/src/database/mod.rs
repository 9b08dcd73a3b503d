//! The database: SQLite in a file, or PostgreSQL with the feature `postgres-nats`. The statements of this service are
//! the same for both.

use std::error::Error;

use idem_messaging::outbox;
use idem_runtime::schema;

#[cfg(feature = "postgres-nats")]
mod postgres;
#[cfg(feature = "postgres-nats")]
use postgres as chosen;

#[cfg(not(feature = "postgres-nats"))]
mod sqlite;
#[cfg(not(feature = "postgres-nats"))]
use sqlite as chosen;

pub use chosen::{Db, Server};

/// A pool of connections.
pub type Pool = sqlx::Pool<Db>;

/// A transaction: what a handler's body writes with.
pub type Tx<'c> = sqlx::Transaction<'c, Db>;

/// The service's tables. A real service has migrations, and the library's tables are among them.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS case_file (
        id TEXT PRIMARY KEY, version BIGINT NOT NULL, state TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS escalation (
        case_id TEXT NOT NULL, version BIGINT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (case_id, version)
    );
    CREATE TABLE IF NOT EXISTS audit_fact (
        case_id TEXT NOT NULL, version BIGINT NOT NULL, officer TEXT NOT NULL, PRIMARY KEY (case_id, version)
    );
    CREATE TABLE IF NOT EXISTS right_lost (officer TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS notice (
        case_id TEXT NOT NULL, version BIGINT NOT NULL, message TEXT NOT NULL, PRIMARY KEY (case_id, version)
    );
    CREATE TABLE IF NOT EXISTS overview (
        case_id TEXT PRIMARY KEY, version BIGINT NOT NULL, escalations BIGINT NOT NULL
    );
    INSERT INTO case_file (id, version, state)
         VALUES ('481', 1, 'open'), ('482', 3, 'closed')
    ON CONFLICT DO NOTHING;";

/// Opens the database, and creates the tables that it lacks. `at` is a file or a URL; without it, the example has a
/// database of its own. The server lives as long as what is returned for it.
///
/// # Errors
/// The database's.
pub async fn open(at: Option<String>) -> Result<(Pool, Server), Box<dyn Error + Send + Sync>> {
    let (pool, server) = chosen::connect(at).await?;
    let mut conn = pool.acquire().await?;
    schema::create_if_missing(&mut *conn).await?;
    outbox::schema::create_if_missing(&mut *conn).await?;
    let is_new = sqlx::query("SELECT 1 FROM idem_version").execute(&mut *conn);
    if is_new.await.is_err() {
        sqlx::raw_sql(chosen::versions())
            .execute(&mut *conn)
            .await?;
    }
    sqlx::raw_sql(TABLES).execute(&mut *conn).await?;
    drop(conn);
    Ok((pool, server))
}
