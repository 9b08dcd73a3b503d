//! MariaDB: a separate server for the run, behind a link that can fail.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idem_runtime::schema;
use sqlx::mysql::{
    MySqlConnectOptions, MySqlConnection, MySqlPool, MySqlPoolOptions, MySqlSslMode,
    MySqlTransaction,
};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};

use super::{Engine, Tables, loose, read_tables};
use crate::mysql::{Database, Options, Server};
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
/// Counts the transactions of other sessions.
const UNFINISHED: &str = "SELECT count(*) FROM information_schema.innodb_trx \
     WHERE trx_mysql_thread_id <> connection_id()";

/// MariaDB has no constraint that is checked at COMMIT. The nearest case is a session that ends
/// itself: the body's result can be neither recorded nor committed.
const DOOM: Doom = Doom {
    statements: &["KILL CONNECTION_ID()"],
    fails: true,
};

bank!(
    MySqlPool,
    MySqlTransaction<'_>,
    MySqlConnection,
    "`key`",
    DOOM
);

/// The server, its database and the link to it.
#[derive(Debug)]
pub struct Mariadb {
    server: Mutex<Server>,
    database: Database,
    link: Link,
}

impl Engine for Mariadb {
    const NAME: &'static str = "mariadb";
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
    type Bank = MySqlPool;

    fn bank(url: &str) -> Result<MySqlPool, Fault> {
        let pool = MySqlPoolOptions::new()
            .max_connections(6)
            .acquire_timeout(Duration::from_secs(5));
        Ok(pool.connect_lazy(url)?)
    }

    async fn start(planted: Planted) -> Result<Self, Fault> {
        // A crash of the server must not lose a commit that was answered.
        let options = Options::new().set("innodb_flush_log_at_trx_commit", "1");
        let server = block_in_place(|| Server::start(&options))?;
        let database = Database::fresh_on(&server).await;
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await?;
        for statement in tables() {
            conn.execute(AssertSqlSafe(statement)).await?;
        }
        if planted == Planted::NoConstraint {
            for statement in loose("`key`") {
                conn.execute(statement).await?;
            }
        }
        let target = ("127.0.0.1".to_owned(), server.port());
        let link = Link::to(target, MySqlConnectOptions::COMMIT).await?;
        Ok(Self {
            server: Mutex::new(server),
            database,
            link,
        })
    }

    fn url(&self) -> String {
        let options = self.database.options().clone();
        options
            .host("127.0.0.1")
            .port(self.link.port())
            .ssl_mode(MySqlSslMode::Disabled)
            .to_url_lossy()
            .to_string()
    }

    async fn strike(&self, blow: Blow) -> Result<(), Fault> {
        match blow {
            Blow::Crash => block_in_place(|| {
                let mut server = self.server();
                server.kill()?;
                server.resume()
            })?,
            Blow::Restart => block_in_place(|| {
                let mut server = self.server();
                server.stop()?;
                server.resume()
            })?,
            Blow::Terminate => {
                self.database.observer().await.kill_others().await;
            }
            Blow::Hold => {
                let mut conn = self.database.connect().await;
                let mut tx = conn.begin().await?;
                tx.execute("SELECT n FROM counter FOR UPDATE").await?;
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
        read_tables!(
            conn,
            "CAST(`key` AS CHAR)",
            "CAST(operation AS CHAR)",
            unfinished
        )
    }
}

impl Mariadb {
    fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
