//! PostgreSQL: a separate server for the run, behind a link that can fail.

use std::collections::BTreeMap;
use std::str::FromStr as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idem_runtime::schema;
use sqlx::postgres::{
    PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgSslMode, PgTransaction,
};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};

use super::{Engine, Tables, loose, read_tables};
use crate::postgres::{Cluster, Database, Options};
use crate::proxy::Route as _;
use crate::torture::Fault;
use crate::torture::calls::{Asked, Done, Refused, Way};
use crate::torture::handlers::{Doom, bank};
use crate::torture::link::HOLD;
use crate::torture::link::{Harm, Link, Point};
use crate::torture::nemesis::Blow;
use crate::torture::planted::Planted;
use crate::torture::statements::tables;

/// How long to wait until the clients' transactions have ended.
const QUIET: Duration = Duration::from_secs(30);
/// Counts the sessions inside a transaction and the advisory locks.
const UNFINISHED: &str = "SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
     AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL) \
     + (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory') \
     + (SELECT count(*) FROM pg_prepared_xacts)";

/// The refusals of deferred constraints at COMMIT: a duplicate, a trigger's exception, and a
/// serialization failure that a trigger raises.
const DOOM: Doom = Doom {
    statements: &[
        "INSERT INTO doomed VALUES (1)",
        "INSERT INTO refused VALUES ('P0001')",
        "INSERT INTO refused VALUES ('40001')",
    ],
    fails: false,
};
/// The tables of those constraints.
const DEFERRED: &str = "CREATE TABLE doomed (n integer UNIQUE DEFERRABLE INITIALLY DEFERRED); \
     INSERT INTO doomed VALUES (1); \
     CREATE TABLE refused (code text NOT NULL); \
     CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
     $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = NEW.code; END $$; \
     CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON refused DEFERRABLE INITIALLY DEFERRED \
     FOR EACH ROW EXECUTE FUNCTION refuse()";

bank!(PgPool, PgTransaction<'_>, PgConnection, "key", DOOM);

/// The server, its database and the link to it. Batches are fused or not.
#[derive(Debug)]
pub struct Postgres<const FUSED: bool> {
    cluster: Mutex<Cluster>,
    database: Database,
    link: Link,
}

impl<const FUSED: bool> Engine for Postgres<FUSED> {
    const NAME: &'static str = if FUSED {
        "postgres"
    } else {
        "postgres_unfused"
    };
    const BLOWS: &'static [Blow] = &[
        Blow::KillClient,
        Blow::KillClient,
        Blow::KillAll,
        Blow::Freeze,
        Blow::Terminate,
        Blow::Terminate,
        Blow::Terminate,
        Blow::Crash,
        Blow::Restart,
        Blow::CutLinks,
        Blow::Hold,
        Blow::Link(Point::Commit, Harm::CutBefore),
        Blow::Link(Point::Commit, Harm::CutAnswer),
        Blow::Link(Point::Commit, Harm::CutAnswer),
        Blow::Link(Point::Commit, Harm::CutClient),
        Blow::Link(Point::Commit, Harm::CutClient),
        Blow::Link(Point::Commit, Harm::Delay),
        Blow::Link(Point::Commit, Harm::Swallow),
        Blow::Link(Point::Commit, Harm::SwallowAnswer),
        Blow::Link(Point::Commit, Harm::SwallowAnswer),
        Blow::Link(Point::Anywhere, Harm::CutBefore),
        Blow::Link(Point::Anywhere, Harm::CutAnswer),
        Blow::Link(Point::Anywhere, Harm::CutClient),
        Blow::Link(Point::Anywhere, Harm::Delay),
        Blow::Link(Point::Anywhere, Harm::Swallow),
        Blow::Link(Point::Anywhere, Harm::SwallowAnswer),
    ];
    type Bank = PgPool;

    fn bank(url: &str) -> Result<PgPool, Fault> {
        let pool = PgPoolOptions::new()
            .max_connections(6)
            .acquire_timeout(Duration::from_secs(5));
        Ok(pool.connect_lazy(url)?)
    }

    async fn start(planted: Planted) -> Result<Self, Fault> {
        let cluster = block_in_place(|| Cluster::start(Options::new().durable()))?;
        let database = Database::fresh_on(&cluster).await;
        let mut conn = database.connect().await;
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
        let server = PgConnectOptions::from_str(&database.url())?;
        let target = (server.get_host().to_owned(), server.get_port());
        let link = Link::to(target, PgConnectOptions::COMMIT).await?;
        Ok(Self {
            cluster: Mutex::new(cluster),
            database,
            link,
        })
    }

    fn url(&self) -> String {
        let options = self.database.options().clone();
        let mut url = options
            .host("127.0.0.1")
            .port(self.link.port())
            .ssl_mode(PgSslMode::Disable)
            .to_url_lossy();
        let fused = if FUSED { "on" } else { "off" };
        url.query_pairs_mut()
            .append_pair("options[idem.fused]", fused);
        url.to_string()
    }

    async fn strike(&self, blow: Blow) -> Result<(), Fault> {
        match blow {
            Blow::Crash => block_in_place(|| {
                let mut cluster = self.cluster();
                cluster.stop_immediate()?;
                cluster.resume()
            })?,
            Blow::Restart => block_in_place(|| self.cluster().restart())?,
            Blow::Terminate => {
                self.database.observer().await.terminate_others().await;
            }
            Blow::Hold => {
                // Locks the counter and the records, so that bodies and completions wait.
                let mut conn = self.database.connect().await;
                let mut tx = conn.begin().await?;
                tx.execute("LOCK TABLE counter, idem_record IN SHARE ROW EXCLUSIVE MODE")
                    .await?;
                sleep(HOLD).await;
                tx.rollback().await?;
            }
            Blow::CutLinks => self.link.cut(),
            Blow::Link(point, harm) => self.link.arm(point, harm),
            Blow::KillClient | Blow::KillAll | Blow::Freeze | Blow::Read | Blow::Checkpoint => {
                return Err(format!("{blow} is not a fault of this engine").into());
            }
        }
        Ok(())
    }

    fn hits(&self) -> BTreeMap<String, u64> {
        self.link.hits()
    }

    async fn tables(&self) -> Result<Tables, Fault> {
        let mut conn = self.database.connect().await;
        let begun = Instant::now();
        let unfinished = loop {
            let count: i64 = sqlx::query_scalar(UNFINISHED).fetch_one(&mut conn).await?;
            if count == 0 || begun.elapsed() > QUIET {
                break count;
            }
            sleep(Duration::from_millis(20)).await;
        };
        read_tables!(conn, "key", "operation", unfinished)
    }
}

impl<const FUSED: bool> Postgres<FUSED> {
    fn cluster(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
