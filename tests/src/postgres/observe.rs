//! Waits for a state of the server instead of for a time.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection};
use tokio::time::{Instant, interval};

/// How long a state may take to appear before the test fails. It only bounds a hang: no test runs
/// slower or faster because of it.
const DEADLINE: Duration = Duration::from_mins(1);

/// Watches the other sessions of one database.
///
/// Each `until_…` returns once the server shows the state. If it never does, the test fails with a
/// list of the sessions.
#[derive(Debug)]
pub struct Observer {
    connection: PgConnection,
}

impl Observer {
    /// Watches the database to which `connection` is open.
    pub fn new(connection: PgConnection) -> Self {
        Self { connection }
    }

    /// Waits until at least `count` sessions wait for a lock of any kind.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within a minute.
    pub async fn until_blocked(&mut self, count: i64) {
        self.until_count("wait for a lock", "wait_event_type = 'Lock'", count)
            .await;
    }

    /// Waits until the session `pid` waits for a lock that another session holds.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within a minute.
    pub async fn until_blocked_by_other(&mut self, pid: i32) {
        let condition = format!("cardinality(pg_blocking_pids({pid})) > 0");
        self.until(&condition).await;
    }

    /// Waits until at least `count` sessions are inside a transaction and wait for their client.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within a minute.
    pub async fn until_idle_in_transaction(&mut self, count: i64) {
        self.until_count(
            "are idle in a transaction",
            "state LIKE 'idle in transaction%'",
            count,
        )
        .await;
    }

    /// Waits until at least `count` sessions wait for `event`, as `pg_stat_activity.wait_event`
    /// names it: `SyncRep`, say.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within a minute.
    pub async fn until_waiting_for(&mut self, event: &str, count: i64) {
        let filter = format!("wait_event = '{event}'");
        self.until_count("wait for the event", &filter, count).await;
    }

    /// Waits until no session is inside a transaction.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within a minute.
    pub async fn until_no_transaction(&mut self) {
        self.until(&format!(
            "NOT EXISTS (SELECT {OTHERS} AND xact_start IS NOT NULL)"
        ))
        .await;
    }

    /// Waits until no session is running a statement or has uncommitted writes.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within a minute.
    pub async fn until_nothing_is_written(&mut self) {
        self.until(&format!(
            "NOT EXISTS (SELECT {OTHERS} AND (state = 'active' OR backend_xid IS NOT NULL))"
        ))
        .await;
    }

    /// Waits until the session `pid` has ended.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within a minute.
    pub async fn until_gone(&mut self, pid: i32) {
        self.until(&format!(
            "NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = {pid})"
        ))
        .await;
    }

    /// Waits until `condition`, an SQL expression, is true.
    ///
    /// # Panics
    ///
    /// Panics if it does not become true within a minute, or is not a boolean expression.
    pub async fn until(&mut self, condition: &str) {
        let query = format!("SELECT coalesce(({condition}), false)");
        let started = Instant::now();
        let mut tick = interval(Duration::from_millis(5));
        loop {
            tick.tick().await;
            let holds: bool = sqlx::query_scalar(AssertSqlSafe(&*query))
                .fetch_one(&mut self.connection)
                .await
                .unwrap_or_else(|error| panic!("the server did not answer {query}: {error}"));
            if holds {
                return;
            }
            if started.elapsed() > DEADLINE {
                let sessions = self.sessions().await.join("\n");
                panic!("not true within a minute: {condition}\nother sessions:\n{sessions}");
            }
        }
    }

    /// Counts the advisory locks that are held in this database.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer.
    pub async fn advisory_locks(&mut self) -> i64 {
        sqlx::query_scalar(
            "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database \
             WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()",
        )
        .fetch_one(&mut self.connection)
        .await
        .expect("the server answers")
    }

    /// Ends every other session of this database, as an administrator would. Returns their number.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer.
    pub async fn terminate_others(&mut self) -> i64 {
        self.terminate("true").await
    }

    /// Ends the other sessions that wait for a lock. Returns their number.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer.
    pub async fn terminate_blocked(&mut self) -> i64 {
        self.terminate("wait_event_type = 'Lock'").await
    }

    async fn terminate(&mut self, filter: &str) -> i64 {
        let query = format!("SELECT count(pg_terminate_backend(pid)) {OTHERS} AND {filter}");
        sqlx::query_scalar(AssertSqlSafe(query))
            .fetch_one(&mut self.connection)
            .await
            .expect("the server answers")
    }

    async fn until_count(&mut self, what: &str, filter: &str, count: i64) {
        self.until(&format!(
            "(SELECT count(*) {OTHERS} AND {filter}) >= {count} /* {count} {what} */"
        ))
        .await;
    }

    async fn sessions(&mut self) -> Vec<String> {
        let query = format!(
            "SELECT concat_ws(' | ', pid, state, wait_event_type, wait_event, left(query, 200)) {OTHERS}"
        );
        sqlx::query_scalar(AssertSqlSafe(query))
            .fetch_all(&mut self.connection)
            .await
            .unwrap_or_else(|error| vec![error.to_string()])
    }
}

/// The client sessions of this database, without the observer's own.
const OTHERS: &str = "FROM pg_stat_activity WHERE datname = current_database() \
                      AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
