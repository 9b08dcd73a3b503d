//! SQLite: client processes over one file. If all of them crash, the database crashes: the next
//! process to open it finds a hot journal.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Duration;

use idem_runtime::schema;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions, SqliteTransaction,
};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};
use tokio::time::sleep;

use super::{Engine, Tables, loose, read_tables};
use crate::sqlite::{Journal, Sqlite as File};
use crate::torture::Fault;
use crate::torture::calls::{Asked, Done, Refused, Way};
use crate::torture::handlers::{Doom, bank};
use crate::torture::link::HOLD;
use crate::torture::nemesis::Blow;
use crate::torture::planted::Planted;
use crate::torture::statements::tables;

/// The refusal of a deferred foreign key at COMMIT, which leaves the transaction open.
const DOOM: Doom = Doom {
    statements: &["INSERT INTO doomed VALUES (1)"],
    fails: false,
};
/// The tables of that constraint.
const DEFERRED: &str = "CREATE TABLE parent (n integer PRIMARY KEY); \
     CREATE TABLE doomed (n integer REFERENCES parent DEFERRABLE INITIALLY DEFERRED)";

bank!(
    SqlitePool,
    SqliteTransaction<'_>,
    SqliteConnection,
    "key",
    DOOM
);

/// Shorter than the nemesis holds a lock, so that callers meet a busy database.
const BUSY: Duration = Duration::from_millis(150);

/// Longer than callers can delay the nemesis and the checker.
const PATIENCE: Duration = Duration::from_mins(1);

/// The journal mode of a database.
pub trait Mode: Send + Sync + 'static {
    /// The engine's name.
    const NAME: &'static str;
    /// The journal mode.
    const JOURNAL: Journal;
}

/// Write-ahead log.
#[derive(Debug)]
pub struct Wal;

/// Rollback journal.
#[derive(Debug)]
pub struct Rollback;

impl Mode for Wal {
    const NAME: &'static str = "sqlite-wal";
    const JOURNAL: Journal = Journal::Wal;
}

impl Mode for Rollback {
    const NAME: &'static str = "sqlite-rollback";
    const JOURNAL: Journal = Journal::Rollback;
}

/// A database file.
#[derive(Debug)]
pub struct Sqlite<M> {
    file: File,
    mode: PhantomData<M>,
}

impl<M: Mode> Engine for Sqlite<M> {
    const NAME: &'static str = M::NAME;
    const BLOWS: &'static [Blow] = &[
        Blow::KillClient,
        Blow::KillClient,
        Blow::KillClient,
        Blow::KillAll,
        Blow::KillAll,
        Blow::Freeze,
        Blow::Hold,
        Blow::Read,
        Blow::Checkpoint,
    ];
    type Bank = SqlitePool;

    fn bank(url: &str) -> Result<SqlitePool, Fault> {
        // The file keeps its journal mode from its creation.
        let options = url.parse::<SqliteConnectOptions>()?.busy_timeout(BUSY);
        let pool = SqlitePoolOptions::new().max_connections(6);
        Ok(pool.connect_lazy_with(options))
    }

    async fn start(planted: Planted) -> Result<Self, Fault> {
        let file = File::fresh(M::JOURNAL);
        let mut conn = file.connect().await;
        schema::create_if_missing(&mut conn).await?;
        for statement in tables() {
            conn.execute(AssertSqlSafe(statement)).await?;
        }
        conn.execute(sqlx::raw_sql(DEFERRED)).await?;
        if planted == Planted::NoConstraint {
            for statement in loose("key") {
                conn.execute(statement).await?;
            }
        }
        conn.close().await?;
        Ok(Self {
            file,
            mode: PhantomData,
        })
    }

    fn url(&self) -> String {
        self.file.url()
    }

    async fn strike(&self, blow: Blow) -> Result<(), Fault> {
        let mut conn = self.connect().await?;
        match blow {
            Blow::Hold => {
                let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
                tx.execute("UPDATE counter SET n = n + 1").await?;
                sleep(HOLD).await;
                tx.rollback().await?;
            }
            Blow::Read => {
                // A rollback journal's COMMIT waits until there is no reader.
                let mut tx = conn.begin().await?;
                sqlx::query("SELECT n FROM counter")
                    .fetch_one(&mut *tx)
                    .await?;
                sleep(HOLD).await;
                tx.rollback().await?;
            }
            Blow::Checkpoint => {
                conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").await?;
            }
            _ => return Err(format!("{blow} is not a fault of this engine").into()),
        }
        conn.close().await?;
        Ok(())
    }

    fn hits(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    async fn tables(&self) -> Result<Tables, Fault> {
        let mut conn = self.connect().await?;
        let sound: String = sqlx::query_scalar("PRAGMA integrity_check")
            .fetch_one(&mut conn)
            .await?;
        if sound != "ok" {
            return Err(format!("the file is damaged: {sound}").into());
        }
        // A lock that was left behind prevents this from beginning.
        let left = match conn.begin_with("BEGIN EXCLUSIVE").await {
            Ok(tx) => tx.rollback().await.map(|()| 0)?,
            Err(_) => 1,
        };
        read_tables!(conn, "key", "operation", left)
    }
}

impl<M> Sqlite<M> {
    /// Connects by the URL, as a client does: the journal mode is not set again.
    async fn connect(&self) -> Result<SqliteConnection, Fault> {
        let options = self.file.url().parse::<SqliteConnectOptions>()?;
        Ok(SqliteConnection::connect_with(&options.busy_timeout(PATIENCE)).await?)
    }
}
