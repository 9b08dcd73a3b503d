//! The operations that the laws of leases need of a database.

use std::time::Duration;

use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::record::Record;
use idem_runtime::store::{LeaseSession, Outcome, StoreLease};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, Executor, SqliteConnection};

use super::mysql::NOW;
use super::postgres::{On, Way};
use super::{MySql, PAY, SqliteRollback, SqliteWal, Subject, key, store};

pub(crate) trait LeaseSubject: Subject<Conn: LeaseSession> {
    /// Moves the end of every lease to this long from now, with all checks of the schema enabled.
    async fn end_leases_in(&self, left: i64);

    /// Deletes every record.
    async fn clear(&self);

    /// Makes the leases of these unknown outcomes end at the same moment.
    async fn same_end(&self, keys: &[&str]);

    /// Makes every lease end now.
    async fn lapse(&self) {
        self.end_leases_in(0).await;
    }
}

impl<W: Way> LeaseSubject for On<W> {
    async fn end_leases_in(&self, left: i64) {
        // Without bind parameters, because it may run through a pooler.
        let statement = format!(
            "UPDATE idem_record SET locked_until = clock_timestamp() + {left} * interval '1 microsecond' \
             WHERE status = 3"
        );
        let mut conn = self.connect().await;
        conn.execute(AssertSqlSafe(statement))
            .await
            .expect("the server answers");
    }

    async fn clear(&self) {
        let mut conn = self.connect().await;
        conn.execute("DELETE FROM idem_record")
            .await
            .expect("the server answers");
    }

    async fn same_end(&self, keys: &[&str]) {
        let mut conn = self.connect().await;
        conn.execute(AssertSqlSafe(same_end(keys)))
            .await
            .expect("the server answers");
    }
}

macro_rules! on_sqlite {
    ($subject:ty) => {
        impl LeaseSubject for $subject {
            async fn end_leases_in(&self, left: i64) {
                end_leases_in(self.connect().await, left).await;
            }

            async fn clear(&self) {
                let mut conn = self.connect().await;
                conn.execute("DELETE FROM idem_record")
                    .await
                    .expect("the file can be written");
            }

            async fn same_end(&self, keys: &[&str]) {
                let mut conn = self.connect().await;
                conn.execute(AssertSqlSafe(same_end(keys)))
                    .await
                    .expect("the file can be written");
            }
        }
    };
}

on_sqlite!(SqliteWal);
on_sqlite!(SqliteRollback);

fn same_end(keys: &[&str]) -> String {
    format!(
        "UPDATE idem_record SET locked_until = (SELECT max(locked_until) FROM idem_record WHERE status = 4) \
         WHERE key IN ('{}')",
        keys.join("', '")
    )
}

async fn end_leases_in(mut conn: SqliteConnection, left: i64) {
    sqlx::query(
        "UPDATE idem_record SET locked_until = \
         CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000 + ?1 WHERE status = 3",
    )
    .bind(left)
    .execute(&mut conn)
    .await
    .expect("the file can be written");
    conn.close().await.expect("it is open");
}

impl LeaseSubject for MySql {
    async fn end_leases_in(&self, left: i64) {
        self.run(&format!(
            "UPDATE idem_record SET locked_until = {NOW} + {left} WHERE status = 3"
        ))
        .await;
    }

    async fn clear(&self) {
        self.run("DELETE FROM idem_record").await;
    }

    async fn same_end(&self, keys: &[&str]) {
        // MySQL cannot read the table that a statement changes, but it can read a derived table of
        // it.
        self.run(&format!(
            "UPDATE idem_record SET locked_until = (SELECT * FROM (SELECT max(locked_until) FROM idem_record \
             WHERE status = 4) AS latest) WHERE `key` IN ('{}')",
            keys.join("', '")
        ))
        .await;
    }
}

pub(crate) const LEASE: Duration = Duration::from_mins(5);

pub(crate) fn lease_under(on_lapse: OnLapse) -> Lease {
    Lease::new(LEASE, on_lapse).expect("within bounds")
}

/// Claims a lease on `k`, as every law does.
pub(crate) async fn ask_lease<C: LeaseSession>(
    conn: &mut C,
    on_lapse: OnLapse,
) -> Result<Outcome<StoreLease, Value, Value>, idem_runtime::Error> {
    let store = store();
    let mut bound = store.in_connection(conn);
    bound
        .begin_leased(&key("k"), PAY, &json!(1), lease_under(on_lapse))
        .await
}

/// Claims a lease and asserts that it is granted.
pub(crate) async fn lease<C: LeaseSession>(conn: &mut C, on_lapse: OnLapse) -> StoreLease {
    match ask_lease(conn, on_lapse).await {
        Ok(Outcome::Fresh(lease)) => lease,
        other => panic!("no lease: {other:?}"),
    }
}

pub(crate) async fn read<C: LeaseSession>(conn: &mut C) -> Record {
    let store = store();
    let mut bound = store.in_connection(conn);
    let found = bound.get(&key("k")).await.expect("it can be read");
    found.expect("there is a record")
}
