//! Leases whose owner is gone.

use std::fmt::Write as _;
use std::time::Duration;

use idem_runtime::IdempotencyKey;
use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::store::{LeaseSession, Outcome};
use serde_json::Value;
use sqlx::AssertSqlSafe;

use crate::database::{LeaseDatabase, MySql, Postgres, Sqlite, mails};

/// A database whose records are changed by statements.
pub(crate) trait Edited: LeaseDatabase {
    /// A random attempt.
    const ATTEMPT: &'static str;
    /// The column `key`.
    const KEY: &'static str;
    /// The keyword before a recursive table.
    const WITH: &'static str = "WITH RECURSIVE";

    /// Returns a literal of bytes.
    fn bytes(value: &[u8]) -> String {
        let digits = digits(value);
        format!("x'{digits}'")
    }

    async fn execute(&self, statement: String);

    /// Copies the only record this many times, under other keys.
    async fn copy_record(&self, times: u64) {
        let (attempt, key, with) = (Self::ATTEMPT, Self::KEY, Self::WITH);
        let columns = "created_at, expires_at, locked_until, attempt, status, fingerprint_version, codec, on_lapse, \
             namespace, scope, operation, fingerprint, request";
        self.execute(format!(
            "INSERT INTO idem_record ({columns}, {key}, attempt_id) \
             {with} n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {times}) \
             SELECT {columns}, concat('copy ', x), {attempt} FROM idem_record, n"
        ))
        .await;
    }

    async fn set_request(&self, request: &[u8]) {
        let request = Self::bytes(request);
        self.execute(format!("UPDATE idem_record SET request = {request}"))
            .await;
    }

    async fn delete_records(&self) {
        self.execute("DELETE FROM idem_record".to_owned()).await;
    }
}

impl Edited for Postgres {
    const ATTEMPT: &'static str = "gen_random_uuid()";
    const KEY: &'static str = "key";

    fn bytes(value: &[u8]) -> String {
        let digits = digits(value);
        format!("'\\x{digits}'")
    }

    async fn execute(&self, statement: String) {
        sqlx::raw_sql(AssertSqlSafe(statement))
            .execute(&mut self.database.connect().await)
            .await
            .expect("the server answers");
    }
}

impl Edited for Sqlite {
    const ATTEMPT: &'static str = "randomblob(16)";
    const KEY: &'static str = "key";

    async fn execute(&self, statement: String) {
        sqlx::raw_sql(AssertSqlSafe(statement))
            .execute(&mut self.database.connect().await)
            .await
            .expect("the file can be written");
    }
}

impl Edited for MySql {
    const ATTEMPT: &'static str = "random_bytes(16)";
    const KEY: &'static str = "`key`";

    async fn execute(&self, statement: String) {
        self.run(&statement).await;
    }
}

/// Claims as a client does that dies before its body has ended.
pub(crate) async fn abandon<H: LeaseDatabase>(
    database: &H,
    key: &IdempotencyKey,
    operation: &str,
    request: &Value,
    on_lapse: OnLapse,
) {
    let mut conn = database.pool().acquire().await.expect("a connection");
    claim(&mut *conn, key, operation, request, on_lapse).await;
}

async fn claim<C: LeaseSession>(
    conn: &mut C,
    key: &IdempotencyKey,
    operation: &str,
    request: &Value,
    on_lapse: OnLapse,
) {
    let lease = Lease::new(Duration::from_mins(5), on_lapse).expect("within bounds");
    let mails = mails();
    let mut bound = mails.in_connection(conn);
    let claimed = bound.begin_leased(key, operation, request, lease).await;
    let claimed = claimed.expect("it answers");
    assert!(matches!(claimed, Outcome::Fresh(_)), "{claimed:?}");
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
