//! The arena, and who disturbs it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use idem_runtime::schema;
use idem_tests::postgres::{Cluster, Database, Options};
use idem_tests::torture::client::Planted;
use idem_tests::torture::history::History;
use idem_tests::torture::{TABLES, checker, choice};
use sqlx::{AssertSqlSafe, Executor as _};
use tokio::process::{Child, Command};

/// Clients at a time.
const CLIENTS: u64 = 4;

/// What was done to them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// Clients killed.
    pub(crate) kills: u64,
    /// Times that all backends were terminated.
    pub(crate) terminations: u64,
    /// Immediate shutdowns of the server.
    pub(crate) crashes: u64,
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kills,
            terminations,
            crashes,
        } = self;
        write!(
            f,
            "{kills} clients killed, {terminations} times all backends terminated, {crashes} crashes of the server"
        )
    }
}

/// A server of its own, with the tables.
pub(crate) struct Arena {
    database: Database,
    cluster: std::sync::Mutex<Cluster>,
    logs: tempfile::TempDir,
    planted: Planted,
}

impl Arena {
    pub(crate) async fn open(planted: Planted) -> Self {
        let options = Options::new().durable();
        let cluster = Cluster::start(options).expect("a server");
        let database = Database::fresh_on(&cluster).await;
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn)
            .await
            .expect("the record's table");
        conn.execute(TABLES).await.expect("the business tables");
        if planted == Planted::NoConstraint {
            // Behind the library's back: the constraint goes, and every session is told that the
            // table has been verified.
            let name = database.name();
            let sql = format!(
                "ALTER TABLE idem_record DROP CONSTRAINT idem_record_pkey; \
                 DO $$ BEGIN EXECUTE format('ALTER DATABASE {name} SET idem.verified = %L', \
                 'idem_record'::regclass::oid::text); END $$"
            );
            conn.execute(sqlx::raw_sql(AssertSqlSafe(sql)))
                .await
                .expect("the plot");
        }
        Self {
            database,
            cluster: std::sync::Mutex::new(cluster),
            logs: tempfile::tempdir().expect("a directory for the logs"),
            planted,
        }
    }

    /// Runs the clients to their end, under a nemesis or in peace.
    pub(crate) async fn run(
        &self,
        seed: u64,
        calls: u64,
        keys: u64,
        disturbed: bool,
    ) -> (History, Faults) {
        let share = calls / CLIENTS;
        let mut faults = Faults::default();
        let mut clients: Vec<(Child, PathBuf, u64)> = Vec::new();
        for n in 0..CLIENTS {
            clients.push(self.client(seed, n, share, keys));
        }
        let mut born = CLIENTS;
        // The nemesis strikes whenever the clients have come that much further.
        let stride = (calls / 24).clamp(1, 500);
        let mut strikes = 0;
        let mut pace = tokio::time::interval(Duration::from_millis(5));
        while !clients.is_empty() {
            pace.tick().await;
            let mut going = Vec::new();
            for (mut child, log, share) in clients {
                match child.try_wait().expect("it is a child") {
                    Some(status) => assert!(status.success(), "{}: {status}", log.display()),
                    None => going.push((child, log, share)),
                }
            }
            clients = going;
            if !disturbed || clients.is_empty() || self.begun() < (strikes + 1) * stride {
                continue;
            }
            strikes += 1;
            match choice(seed, 1_000_000 + strikes) % 8 {
                0 => {
                    let mut cluster = self.cluster.lock().expect("nobody panicked");
                    cluster.stop_immediate().expect("it stops");
                    cluster.resume().expect("it starts again");
                    faults.crashes += 1;
                }
                1..=3 => {
                    self.database.observer().await.terminate_others().await;
                    faults.terminations += 1;
                }
                _ => {
                    let victim =
                        usize::try_from(choice(seed, strikes)).unwrap_or(0) % clients.len();
                    let (mut child, log, share) = clients.swap_remove(victim);
                    child.kill().await.expect("it runs, or has just ended");
                    faults.kills += 1;
                    let left = share.saturating_sub(begun(&log));
                    clients.push(self.client(seed, born, left, keys));
                    born += 1;
                }
            }
        }
        let mut history = History::default();
        for n in 0..born {
            history.read(&self.log(n)).expect("a log");
        }
        (history, faults)
    }

    pub(crate) async fn violations(&self, history: &History) -> Vec<String> {
        let mut observer = self.database.observer().await;
        observer.until_no_transaction().await;
        checker::violations(&self.database.pool(1), history)
            .await
            .expect("the tables can be read")
    }

    fn log(&self, n: u64) -> PathBuf {
        self.logs.path().join(format!("client-{n}"))
    }

    fn client(&self, seed: u64, n: u64, calls: u64, keys: u64) -> (Child, PathBuf, u64) {
        let log = self.log(n);
        let child = Command::new(env!("CARGO_BIN_EXE_torturer"))
            .arg(self.database.url())
            .arg(&log)
            .args([choice(seed, n), calls, keys].map(|number| number.to_string()))
            .arg(format!("{:?}", self.planted))
            .kill_on_drop(true)
            .spawn()
            .expect("the binary was built");
        (child, log, calls)
    }

    fn begun(&self) -> u64 {
        let logs = std::fs::read_dir(self.logs.path()).expect("the directory of the logs");
        logs.map(|log| begun(&log.expect("an entry").path())).sum()
    }
}

/// How many calls a log says were begun.
fn begun(log: &Path) -> u64 {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines()
        .filter(|line| line.starts_with("call "))
        .count()
        .try_into()
        .unwrap_or(u64::MAX)
}
