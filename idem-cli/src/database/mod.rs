//! The database of the URL.

mod timeouts;

use std::str::FromStr as _;
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::pool::PoolOptions;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{Connection, MySql, MySqlPool, PgPool, Sqlite, SqlitePool};
use tokio::time::timeout;

use crate::args::{Database, Shared};
use crate::fault::Fault;

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);

const FORMS: &str =
    "--url postgres://user@host/database, mysql://user@host/database or sqlite://file";

/// A pool of one connection, since commands do one thing after another; the pages are asked for side by side.
pub(crate) enum Connected {
    Postgres(PgPool),
    Mysql(MySqlPool),
    Sqlite(SqlitePool),
}

/// Returns the kind of the database that the URL names.
pub(crate) fn kind(shared: &Shared) -> Result<Database, Fault> {
    let Some(url) = &shared.url else {
        return Err(Fault::usage("no database is named").mend(FORMS));
    };
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("postgres" | "postgresql") => Ok(Database::Postgres),
        Some("mysql" | "mariadb") => Ok(Database::Mysql),
        Some("sqlite") => Ok(Database::Sqlite),
        _ => Err(Fault::usage("the URL names no database that idem knows").mend(FORMS)),
    }
}

/// The sessions of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sessions {
    pub(crate) connections: u32,
    /// How long a statement may run or wait at the server; `None` for the account's own limits.
    pub(crate) statement_timeout: Option<Duration>,
}

impl Sessions {
    /// The session of a command.
    pub(crate) const ONE: Self = Self {
        connections: 1,
        statement_timeout: None,
    };
}

/// Connects to the database. The URL is never printed: it may hold a password.
pub(crate) async fn connect(shared: &Shared, sessions: Sessions) -> Result<Connected, Fault> {
    let kind = kind(shared)?;
    let url = shared.url.as_deref().unwrap_or_default();
    let wrong = |_| Fault::usage("the URL cannot be read").mend(FORMS);
    Ok(match kind {
        Database::Postgres => {
            let options = PgConnectOptions::from_str(url).map_err(wrong)?;
            let options = options.application_name("idem");
            let options = timeouts::postgres(options, sessions.statement_timeout).await?;
            Connected::Postgres(of(PgPoolOptions::new(), sessions).connect_lazy_with(options))
        }
        Database::Mysql => {
            let options = MySqlConnectOptions::from_str(url).map_err(wrong)?;
            reach::<MySql>(&options).await?;
            let pool = of(MySqlPoolOptions::new(), sessions);
            let pool = timeouts::mysql(pool, sessions.statement_timeout);
            Connected::Mysql(pool.connect_lazy_with(options))
        }
        Database::Sqlite => {
            let options = SqliteConnectOptions::from_str(url).map_err(wrong)?;
            if !options.get_filename().is_file() {
                return Err(Fault::environment("the file of the URL does not exist")
                    .mend("name an existing file: sqlite:///path/to/file"));
            }
            reach::<Sqlite>(&options).await?;
            Connected::Sqlite(of(SqlitePoolOptions::new(), sessions).connect_lazy_with(options))
        }
    })
}

/// Connects once, beside the pool: a pool would try again for as long as it may.
async fn reach<DB: sqlx::Database>(
    options: &<DB::Connection as Connection>::Options,
) -> Result<(), Fault> {
    try_to_reach::<DB>(options)
        .await
        .map_err(|error| unreached(&error))
}

async fn try_to_reach<DB: sqlx::Database>(
    options: &<DB::Connection as Connection>::Options,
) -> Result<(), sqlx::Error> {
    match timeout(PATIENCE, DB::Connection::connect_with(options)).await {
        // If it cannot be closed, the server closes it.
        Ok(connected) => {
            let _ = connected?.close().await;
            Ok(())
        }
        Err(_) => Err(sqlx::Error::PoolTimedOut),
    }
}

fn of<DB: sqlx::Database>(options: PoolOptions<DB>, sessions: Sessions) -> PoolOptions<DB> {
    options
        .max_connections(sessions.connections)
        .acquire_timeout(PATIENCE)
}

/// Says why there is no connection, in words that quote nothing of the URL.
fn unreached(error: &sqlx::Error) -> Fault {
    let (sentence, mend) = match error {
        sqlx::Error::Database(error) => (
            format!(
                "the server refuses the connection (code {})",
                error.code().unwrap_or_default()
            ),
            "check account, password and database of the URL",
        ),
        sqlx::Error::Tls(_) => (
            "the TLS handshake failed".to_owned(),
            "set sslmode (ssl-mode) and sslrootcert (ssl-ca) in the URL",
        ),
        sqlx::Error::PoolTimedOut => (
            "the server did not answer within 10 s".to_owned(),
            "check host and port of the URL, and the firewall",
        ),
        sqlx::Error::Io(error) => (
            format!("the server cannot be reached: {}", error.kind()),
            "check host and port of the URL",
        ),
        _ => ("the server cannot be reached".to_owned(), "check the URL"),
    };
    Fault::environment(sentence).mend(mend)
}
