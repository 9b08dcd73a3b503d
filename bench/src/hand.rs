//! The library's protocol written by hand in plain sqlx. The difference to a call is what the
//! library itself costs.
//!
//! Both versions keep the guarantee: a lock that is tried, a look-up after it, the comparison of
//! the request, and the record in one COMMIT with the handler's writes. The fused one executes the
//! library's prepared statements (`stores/postgres/sql/fused.rs`), in as few messages. It commits
//! without the empty transaction by which the library keeps sqlx's own count, and a caller that
//! drops it leaves its transaction open.

use idem_runtime::IdempotencyKey;
use idem_runtime::fingerprint::{FINGERPRINT_VERSION, Fingerprint, canonical_json};
use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool, Row as _};
use uuid::Uuid;

use crate::Fault;
use crate::work::{NAMESPACE, Paid, Pay, one};

const OPERATION: &str = "pay_one";

struct HandClaim {
    key: String,
    key_hash: String,
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
            key_hash: hex(&digest),
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

/// Asks for the lock with every check of the session, and lists the claim.
const LOCK: &str = "PREPARE hand_lock (bigint, text) AS SELECT WHERE CASE \
     WHEN NOT (pg_catalog.now() = pg_catalog.statement_timestamp()) THEN current_setting('hand.in_a_transaction') \
     WHEN NOT pg_try_advisory_xact_lock($1) THEN ('the key is in flight' || left($2, 0))::timestamptz::text \
     WHEN coalesce(position(',' || 'idem_record'::regclass::oid::text || ',' \
       IN current_setting('hand.verified', true)), 0) = 0 THEN ('not verified' || left($2, 0))::regnamespace::text \
     WHEN current_setting('transaction_isolation') NOT LIKE 'read %' \
     THEN ('isolation' || left($2, 0))::regproc::text \
     ELSE set_config('hand.held', $2 || 'idem_record'::regclass::oid::text || ';', true) END IS NULL";

const KEY: &str = "r.namespace = convert_from($1, 'UTF8') AND r.scope = convert_from($2, 'UTF8') \
     AND r.key = convert_from($3, 'UTF8')";

/// Raises if the key has a record.
const CLAIM: &str = "PREPARE hand_claim (bytea, bytea, bytea) AS \
     SELECT ('the key has a record' || left(current_setting('hand.held'), 0))::bigint FROM idem_record AS r WHERE ";

const LOOK: &str = "PREPARE hand_look (bytea, bytea, bytea) AS \
     SELECT '' AS held, r.status, r.operation, r.fingerprint, r.result FROM (VALUES (1)) AS one (n) \
     LEFT JOIN idem_record AS r ON ";

/// Writes the record, and raises if the claim is gone or nothing was written.
const RECORD: &str = "PREPARE hand_record (uuid, bytea, bytea, bytea, bytea, bytea, bytea, bytea, bytea, bigint) \
     AS WITH written AS (INSERT INTO idem_record AS r (created_at, expires_at, attempt_id, attempt, status, \
       fingerprint_version, codec, namespace, scope, key, operation, fingerprint, request, result, failure) \
       SELECT CASE WHEN position($1::text || ',' || 'idem_record'::regclass::oid::text || ';' \
           IN current_setting('hand.held', true)) > 0 \
         THEN clock.now ELSE current_setting('hand.claim_is_gone')::timestamptz END, \
         clock.now + $10 * interval '1 microsecond', $1, 1, CASE WHEN $9 IS NULL THEN 1 ELSE 2 END, 1, 1, \
         convert_from($2, 'UTF8'), convert_from($3, 'UTF8'), convert_from($4, 'UTF8'), convert_from($5, 'UTF8'), \
         $6, $7, $8, $9 \
       FROM (SELECT pg_catalog.clock_timestamp() AS now OFFSET 0) AS clock RETURNING 1) \
     SELECT CASE WHEN EXISTS (SELECT FROM written) THEN $1::text ELSE current_setting('hand.not_written') END";

const RETENTION: i64 = 24 * 3_600 * 1_000_000;

/// Sends BEGIN, lock and claim in one message; after the body, record and COMMIT in another: no more
/// round trips than plain.
pub(crate) async fn fused(
    pool: &PgPool,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<(Paid, bool), Fault> {
    let hand_claim = HandClaim::new(key, cmd)?;
    let mut conn = pool.acquire().await?;
    let HandClaim { lock, attempt, .. } = &hand_claim;
    let identity = [NAMESPACE, "", &hand_claim.key].map(|text| bytes(text.as_bytes()));
    let identity = identity.join(",");
    let begin = format!(
        "BEGIN READ WRITE, NOT DEFERRABLE; EXECUTE hand_lock({lock},'{}:{attempt},'); EXECUTE hand_claim({identity})",
        hand_claim.key_hash,
    );
    while let Err(error) = send(&mut conn, begin.clone()).await {
        match error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code)
            .as_deref()
        {
            // The statements are not known on this connection.
            Some("26000") => prepare(&mut conn).await?,
            // The cast of a text to a number: there is a record.
            Some("22P02") => {
                let look = format!("ROLLBACK; EXECUTE hand_look({identity})");
                let row = conn.fetch_one(sqlx::raw_sql(AssertSqlSafe(look))).await?;
                let recorded = hand_claim.decide(&row)?;
                return Ok((recorded.ok_or("the record has gone")?, true));
            }
            _ => return Err(error.into()),
        }
    }
    let paid = one(&mut conn, cmd).await?;
    let record = format!(
        "EXECUTE hand_record('{attempt}',{identity},{},{},NULL,{},NULL,{RETENTION}); COMMIT",
        bytes(OPERATION.as_bytes()),
        bytes(hand_claim.fingerprint.as_bytes()),
        bytes(&serde_json::to_vec(&paid)?),
    );
    let rows = conn.fetch_all(sqlx::raw_sql(AssertSqlSafe(record))).await?;
    let written = rows.first().ok_or("no answer to the record")?;
    if written.try_get::<&str, _>(0)? != attempt.to_string() {
        return Err("another statement has answered".into());
    }
    Ok((paid, false))
}

async fn send(conn: &mut PgConnection, text: String) -> Result<(), sqlx::Error> {
    conn.execute(sqlx::raw_sql(AssertSqlSafe(text))).await?;
    Ok(())
}

/// Ends the transaction of a message that raised, and prepares the statements.
async fn prepare(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    let verified =
        "SELECT set_config('hand.verified', ',' || 'idem_record'::regclass::oid || ',', false)";
    let text = format!("ROLLBACK; {RECORD}; {LOOK}{KEY}; {CLAIM}{KEY}; {LOCK}; {verified}");
    send(conn, text).await
}

fn bytes(value: &[u8]) -> String {
    format!("E'\\\\x{}'", hex(value))
}

fn hex(value: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(value.len() * 2);
    for byte in value {
        // Cannot fail: writing to a `String` always succeeds.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
