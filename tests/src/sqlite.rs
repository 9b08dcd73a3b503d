//! SQLite databases for tests.

use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{Connection, SqliteConnection, SqlitePool};
use tempfile::TempDir;

/// How a database undoes what a crash leaves half done; the two differ in who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// Write-ahead log: readers and one writer do not wait for each other.
    Wal,
    /// Rollback journal: a commit waits until nobody reads.
    Rollback,
}

/// A fresh and empty database file in a directory of its own, removed with this value.
#[derive(Debug)]
pub struct Sqlite {
    dir: TempDir,
    options: SqliteConnectOptions,
}

impl Sqlite {
    /// Makes the directory; the first connection makes the file.
    ///
    /// # Panics
    ///
    /// The temporary directory cannot be written.
    pub fn fresh(journal: Journal) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("idem-sqlite-")
            .tempdir()
            .expect("a temporary directory");
        let mode = match journal {
            Journal::Wal => SqliteJournalMode::Wal,
            Journal::Rollback => SqliteJournalMode::Delete,
        };
        let options = SqliteConnectOptions::new()
            .filename(dir.path().join(FILE))
            .create_if_missing(true)
            .journal_mode(mode);
        Self { dir, options }
    }

    /// The database file.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join(FILE)
    }

    /// The directory, which holds nothing but the database and what SQLite puts beside it.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The URL, for a process that the test starts.
    pub fn url(&self) -> String {
        format!("sqlite://{}", self.path().display())
    }

    /// The options of a connection, for a test that changes some.
    pub fn options(&self) -> &SqliteConnectOptions {
        &self.options
    }

    /// A pool of at most `max_connections` connections, none of them made yet.
    pub fn pool(&self, max_connections: u32) -> SqlitePool {
        SqlitePoolOptions::new()
            .max_connections(max_connections)
            .connect_lazy_with(self.options.clone())
    }

    /// One connection outside any pool.
    ///
    /// # Panics
    ///
    /// The file cannot be opened.
    pub async fn connect(&self) -> SqliteConnection {
        SqliteConnection::connect_with(&self.options)
            .await
            .expect("the database file can be opened")
    }
}

const FILE: &str = "test.db";
