//! SQLite, in a file that is kept.

use std::env;
use std::error::Error;

use idem_messaging::versions;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};

/// The database.
pub type Db = sqlx::Sqlite;

/// There is none.
#[derive(Debug)]
pub struct Server;

pub(super) fn versions() -> &'static str {
    versions::schema::sqlite()
}

pub(super) async fn connect(
    file: Option<String>,
) -> Result<(SqlitePool, Server), Box<dyn Error + Send + Sync>> {
    let file = file.map_or_else(|| env::temp_dir().join("case-escalation.db"), Into::into);
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        // With a write-ahead log, replays do not wait for the one writer.
        .journal_mode(SqliteJournalMode::Wal);
    Ok((SqlitePool::connect_with(options).await?, Server))
}
