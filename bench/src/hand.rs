//! The library's protocol written by hand in plain sqlx. The difference to a call is what the
//! library itself costs.
//!
//! Both versions keep the guarantee: a lock that is tried, a look-up after it, the comparison of
//! the request, and the record in one COMMIT with the handler's writes.

use idem_runtime::IdempotencyKey;
use idem_runtime::fingerprint::{FINGERPRINT_VERSION, Fingerprint, canonical_json};
use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgPool, Row as _};
use uuid::Uuid;

use crate::Fault;
use crate::work::{NAMESPACE, Paid, Pay, one};

const OPERATION: &str = "pay_one";

struct HandClaim {
    key: String,
    lock: i64,
    attempt: Uuid,
    fingerprint: Fingerprint,
}

impl HandClaim {
    fn new(key: &IdempotencyKey, cmd: &Pay) -> Result<Self, Fault> {
        let digest = Sha256::new()
            .chain_update(NAMESPACE)
            .chain_update([0])
            .chain_update(key.as_str())
            .finalize();
        let mut number = [0; 8];
        number.copy_from_slice(&digest[..8]);
        let canonical = canonical_json(&(("cmd", cmd),))?;
        Ok(Self {
            key: key.as_str().to_owned(),
            lock: i64::from_be_bytes(number),
            attempt: Uuid::new_v4(),
            fingerprint: Fingerprint::compute(
                FINGERPRINT_VERSION,
                NAMESPACE,
                OPERATION,
                &canonical,
            )
            .ok_or("a version of this build")?,
        })
    }

    fn begin(&self) -> String {
        let Self { lock, attempt, .. } = self;
        format!(
            "BEGIN READ WRITE; SELECT set_config('bench.held', \
             CASE WHEN pg_try_advisory_xact_lock({lock}) THEN '{attempt}' ELSE '-' END, true)"
        )
    }

    /// Returns the result of a record of the same request, or `None` if the body must run.
    fn decide(&self, row: &PgRow) -> Result<Option<Paid>, Fault> {
        let held: String = row.try_get("held")?;
        let Some(result) = row.try_get::<Option<Vec<u8>>, _>("result")? else {
            if held == self.attempt.to_string() {
                return Ok(None);
            }
            return Err("in flight".into());
        };
        let recorded: Option<Vec<u8>> = row.try_get("fingerprint")?;
        if recorded.as_deref() != Some(self.fingerprint.as_bytes()) {
            return Err("mismatch".into());
        }
        Ok(Some(serde_json::from_slice(&result)?))
    }
}

const LOOK_UP: &str = "SELECT coalesce(current_setting('bench.held', true), '') AS held, r.status, r.operation, \
     r.fingerprint, r.result FROM (VALUES (1)) AS one (n) \
     LEFT JOIN idem_record AS r ON r.namespace = $1 AND r.scope = $2 AND r.key = $3";

const WRITE: &str = "INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, \
     codec, namespace, scope, key, operation, fingerprint, result) \
     SELECT clock.now, clock.now + interval '24 hours', $1, 1, 1, 1, 1, $2, $3, $4, $5, $6, $7 \
     FROM (SELECT clock_timestamp() AS now OFFSET 0) AS clock WHERE current_setting('bench.held', true) = $8";

/// Sends BEGIN and lock, look-up, body, record, COMMIT: two round trips more than plain.
pub(crate) async fn unfused(
    pool: &PgPool,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<(Paid, bool), Fault> {
    let hand_claim = HandClaim::new(key, cmd)?;
    let mut conn = pool.acquire().await?;
    let mut tx = conn.begin_with(AssertSqlSafe(hand_claim.begin())).await?;
    let row = sqlx::query(LOOK_UP)
        .bind(NAMESPACE)
        .bind("")
        .bind(&hand_claim.key)
        .fetch_one(&mut *tx)
        .await?;
    if let Some(paid) = hand_claim.decide(&row)? {
        tx.rollback().await?;
        return Ok((paid, true));
    }
    let paid = one(&mut tx, cmd).await?;
    let written = sqlx::query(WRITE)
        .bind(hand_claim.attempt)
        .bind(NAMESPACE)
        .bind("")
        .bind(&hand_claim.key)
        .bind(OPERATION)
        .bind(hand_claim.fingerprint.as_bytes().as_slice())
        .bind(serde_json::to_vec(&paid)?)
        .bind(hand_claim.attempt.to_string())
        .execute(&mut *tx)
        .await?;
    if written.rows_affected() != 1 {
        return Err("the transaction has ended".into());
    }
    tx.commit().await?;
    Ok((paid, false))
}

/// Sends BEGIN, lock and look-up in one batch; body, record and COMMIT in another: no more round trips
/// than plain.
pub(crate) async fn fused(
    pool: &PgPool,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<(Paid, bool), Fault> {
    let hand_claim = HandClaim::new(key, cmd)?;
    let mut conn = pool.acquire().await?;
    let batch = format!(
        "{}; {}",
        hand_claim.begin(),
        spliced(
            LOOK_UP,
            &[text(NAMESPACE), text(""), text(&hand_claim.key),]
        )
    );
    let rows = conn.fetch_all(sqlx::raw_sql(AssertSqlSafe(batch))).await?;
    let row = rows.last().ok_or("no answer to the look-up")?;
    if let Some(paid) = hand_claim.decide(row)? {
        conn.execute("ROLLBACK").await?;
        return Ok((paid, true));
    }
    let paid = one(&mut conn, cmd).await?;
    let values = [
        format!("'{}'::uuid", hand_claim.attempt),
        text(NAMESPACE),
        text(""),
        text(&hand_claim.key),
        text(OPERATION),
        bytes(hand_claim.fingerprint.as_bytes()),
        bytes(&serde_json::to_vec(&paid)?),
        format!("'{}'", hand_claim.attempt),
    ];
    let batch = format!("{}; COMMIT", spliced(WRITE, &values));
    let written = conn.execute(sqlx::raw_sql(AssertSqlSafe(batch))).await?;
    if written.rows_affected() != 1 {
        return Err("the transaction has ended".into());
    }
    Ok((paid, false))
}

/// Replaces `$1` and so on by values. The values are hex in quotes.
fn spliced(sql: &str, values: &[String]) -> String {
    let mut sql = sql.to_owned();
    for (index, value) in values.iter().enumerate().rev() {
        sql = sql.replace(&format!("${}", index + 1), value);
    }
    sql
}

fn text(value: &str) -> String {
    format!("convert_from({}, 'UTF8')", bytes(value.as_bytes()))
}

fn bytes(value: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(value.len() * 2);
    for byte in value {
        // Cannot fail: writing to a `String` always succeeds.
        let _ = write!(hex, "{byte:02x}");
    }
    format!("decode('{hex}', 'hex')")
}
