//! Waits for a state of the server instead of for a time.

use std::time::Duration;

use sqlx::{AssertSqlSafe, MySqlConnection, Row as _};
use tokio::time::{Instant, interval};

/// How long a state may take to appear before the test fails. It only bounds a hang.
const DEADLINE: Duration = Duration::from_mins(1);

/// Watches the other sessions of one database.
#[derive(Debug)]
pub struct Observer {
    connection: MySqlConnection,
}

impl Observer {
    /// Watches the database to which `connection` is open.
    pub fn new(connection: MySqlConnection) -> Self {
        Self { connection }
    }

    /// Waits until no other session is inside a transaction that has touched a table.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within a minute.
    pub async fn until_no_transaction(&mut self) {
        self.until_transactions("no transaction", <[_]>::is_empty)
            .await;
    }

    /// Waits until at least `count` sessions wait for a row's lock.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within a minute.
    pub async fn until_blocked(&mut self, count: usize) {
        self.until_transactions("a session that waits for a row", |all| {
            all.iter().filter(|(_, waits)| *waits).count() >= count
        })
        .await;
    }

    async fn until_transactions(&mut self, what: &str, is_so: impl Fn(&[(u64, bool)]) -> bool) {
        let started = Instant::now();
        let mut tick = interval(Duration::from_millis(5));
        loop {
            tick.tick().await;
            let others = self.others().await;
            let mut all = self.transactions().await;
            all.retain(|(id, _)| others.contains(id));
            if is_so(&all) {
                return;
            }
            if started.elapsed() > DEADLINE {
                let sessions = self.sessions().await.join("\n");
                panic!("not reached within a minute: {what}\ntransactions: {all:?}\n{sessions}");
            }
        }
    }

    /// Returns the sessions with an open transaction, and whether each waits for a row. The
    /// engine's own report is read, because the table `innodb_trx` shows a stale state to frequent
    /// readers.
    async fn transactions(&mut self) -> Vec<(u64, bool)> {
        let row = sqlx::raw_sql("SHOW ENGINE INNODB STATUS")
            .fetch_one(&mut self.connection)
            .await
            .expect("the server answers");
        let report: String = row.try_get_unchecked("Status").expect("a text");
        let blocks = report.split("---TRANSACTION ").skip(1);
        let active = blocks.filter(|block| block.lines().next().is_some_and(is_active));
        active
            .filter_map(|block| {
                let (_, rest) = block.split_once(" thread id ")?;
                let id = rest.split(',').next()?.parse().ok()?;
                Some((id, block.contains("\nLOCK WAIT")))
            })
            .collect()
    }

    async fn others(&mut self) -> Vec<u64> {
        let query = format!("SELECT p.id FROM information_schema.processlist p {OTHERS}");
        sqlx::query_scalar::<_, i64>(AssertSqlSafe(query))
            .fetch_all(&mut self.connection)
            .await
            .expect("the server answers")
            .into_iter()
            .filter_map(|id| u64::try_from(id).ok())
            .collect()
    }

    /// Waits until the session `id` has ended.
    ///
    /// # Panics
    ///
    /// Panics if that does not happen within a minute.
    pub async fn until_gone(&mut self, id: u64) {
        self.until(&format!(
            "NOT EXISTS (SELECT 1 FROM information_schema.processlist WHERE id = {id})"
        ))
        .await;
    }

    /// Waits until `condition`, an SQL expression, is true.
    ///
    /// # Panics
    ///
    /// Panics if it does not become true within a minute, or is not an expression.
    pub async fn until(&mut self, condition: &str) {
        let query = format!("SELECT CAST(coalesce(({condition}), 0) AS SIGNED)");
        let started = Instant::now();
        let mut tick = interval(Duration::from_millis(5));
        loop {
            tick.tick().await;
            let holds: i64 = sqlx::query_scalar(AssertSqlSafe(&*query))
                .fetch_one(&mut self.connection)
                .await
                .unwrap_or_else(|error| panic!("the server did not answer {query}: {error}"));
            if holds != 0 {
                return;
            }
            if started.elapsed() > DEADLINE {
                let sessions = self.sessions().await.join("\n");
                panic!("not true within a minute: {condition}\nother sessions:\n{sessions}");
            }
        }
    }

    /// Ends every other session of this database, as an administrator would. Returns their number.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer.
    pub async fn kill_others(&mut self) -> usize {
        let ids = self.others().await;
        for id in &ids {
            // The session may have ended by itself.
            let _ = sqlx::raw_sql(AssertSqlSafe(format!("KILL CONNECTION {id}")))
                .execute(&mut self.connection)
                .await;
        }
        for id in &ids {
            self.until_gone(*id).await;
        }
        ids.len()
    }

    async fn sessions(&mut self) -> Vec<String> {
        let query = format!(
            "SELECT concat_ws(' | ', p.id, p.command, p.state, left(p.info, 200)) \
             FROM information_schema.processlist p {OTHERS}"
        );
        sqlx::query_scalar(AssertSqlSafe(query))
            .fetch_all(&mut self.connection)
            .await
            .unwrap_or_else(|error| vec![error.to_string()])
    }
}

fn is_active(header: &str) -> bool {
    header.contains("ACTIVE")
}

/// The sessions of this database, without the observer's own.
const OTHERS: &str = "WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()";
