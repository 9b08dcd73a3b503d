//! SQLite databases for tests.

use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{Connection, SqliteConnection, SqlitePool};
use tempfile::TempDir;

/// The journal mode of a database. The modes differ in who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// Write-ahead log: readers and the one writer do not wait for each other.
    Wal,
    /// Rollback journal: a commit waits until there is no reader.
    Rollback,
}

/// A fresh and empty database file in its own directory, removed with this value.
#[derive(Debug)]
pub struct Sqlite {
    dir: TempDir,
    options: SqliteConnectOptions,
}

impl Sqlite {
    /// Creates the directory; the first connection creates the file.
    ///
    /// # Panics
    ///
    /// Panics if the temporary directory cannot be written.
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

    /// Returns the path of the database file.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join(FILE)
    }

    /// Returns the directory, which holds only the database and the files that SQLite adds.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the URL, for a process that the test starts.
    pub fn url(&self) -> String {
        format!("sqlite://{}", self.path().display())
    }

    /// Returns the connection options, for a test that changes some.
    pub fn options(&self) -> &SqliteConnectOptions {
        &self.options
    }

    /// Returns a pool of at most `max_connections` connections, none of them open yet.
    pub fn pool(&self, max_connections: u32) -> SqlitePool {
        SqlitePoolOptions::new()
            .max_connections(max_connections)
            .connect_lazy_with(self.options.clone())
    }

    /// Opens a connection outside any pool.
    ///
    /// # Panics
    ///
    /// Panics if the file cannot be opened.
    pub async fn connect(&self) -> SqliteConnection {
        SqliteConnection::connect_with(&self.options)
            .await
            .expect("the database file can be opened")
    }
}

const FILE: &str = "test.db";
