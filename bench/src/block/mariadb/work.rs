//! The work of the cases: a payment, plain, under the attribute, and by the same protocol written by hand.

use idem_runtime::fingerprint::{FINGERPRINT_VERSION, Fingerprint, canonical_json};
use idem_runtime::{Attempt, IdempotencyKey, idempotent};
use sqlx::mysql::MySqlTransaction;
use sqlx::{MySqlConnection, MySqlPool, Row as _};
use uuid::Uuid;

use crate::Fault;
use crate::work::{NAMESPACE, Paid, Pay, PayError};

/// The tables that handlers write to.
pub(super) const TABLE: &str = "CREATE TABLE payment (id bigint AUTO_INCREMENT PRIMARY KEY, account bigint NOT NULL, \
     amount bigint NOT NULL, note text NOT NULL) ENGINE = InnoDB";

#[idempotent(namespace = "bench")]
pub(super) async fn pay(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let _ = key;
    Ok(body(tx, cmd).await?)
}

/// Pays in a transaction of its own.
#[idempotent(namespace = "bench", lease = "5m", on_lapse = "retry", skip(effects))]
pub(super) async fn pay_leased(
    attempt: &Attempt,
    key: &IdempotencyKey,
    cmd: Pay,
    effects: MySqlPool,
) -> Result<Paid, PayError> {
    let _ = (attempt, key);
    Ok(plain(&effects, &cmd).await?)
}

async fn body(conn: &mut MySqlConnection, cmd: &Pay) -> Result<Paid, sqlx::Error> {
    let id = sqlx::query_scalar(
        "INSERT INTO payment (account, amount, note) VALUES (?, ?, ?) RETURNING id",
    )
    .bind(cmd.account)
    .bind(cmd.amount)
    .bind(cmd.note)
    .fetch_one(conn)
    .await?;
    Ok(Paid { id })
}

pub(super) async fn plain(pool: &MySqlPool, cmd: &Pay) -> Result<Paid, sqlx::Error> {
    let mut tx = pool.begin().await?;
    let paid = body(&mut tx, cmd).await?;
    tx.commit().await?;
    Ok(paid)
}

pub(super) async fn select(pool: &MySqlPool, key: &str) -> Result<Vec<u8>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT result FROM idem_record WHERE namespace = ? AND scope = ? AND `key` = ?",
    )
    .bind(NAMESPACE.as_bytes())
    .bind(b"".as_slice())
    .bind(key.as_bytes())
    .fetch_one(pool)
    .await
}

const NOW: &str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

fn fingerprint(cmd: &Pay) -> Result<Fingerprint, Fault> {
    let canonical = canonical_json(&(("cmd", cmd),))?;
    let found = Fingerprint::compute(FINGERPRINT_VERSION, NAMESPACE, "pay", &canonical);
    Ok(found.ok_or("a version of this build")?)
}

/// Inserts the key of a first run, in the open transaction or in its own. A duplicate fails.
async fn insert_key(
    conn: &mut MySqlConnection,
    key: &str,
    attempt: Uuid,
    status: i16,
) -> Result<(), sqlx::Error> {
    let until = if status == 3 { NOW } else { "NULL" };
    let session = if status == 0 {
        "CONNECTION_ID()"
    } else {
        "NULL"
    };
    let text = format!(
        "INSERT INTO idem_record (created_at, expires_at, locked_until, session_id, attempt_id, attempt, status, \
         fingerprint_version, codec, namespace, scope, `key`, operation) \
         VALUES ({NOW}, 9223372036854775807, {until}, {session}, ?, 1, ?, 1, 1, ?, ?, ?, 'pay')"
    );
    let done = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(attempt)
        .bind(status)
        .bind(NAMESPACE.as_bytes())
        .bind(b"".as_slice())
        .bind(key.as_bytes());
    done.execute(conn).await.map(drop)
}

/// Records the result under the key.
async fn update_key(
    conn: &mut MySqlConnection,
    key: &str,
    attempt: Uuid,
    cmd: &Pay,
    paid: Paid,
) -> Result<(), Fault> {
    let text = format!(
        "UPDATE idem_record SET created_at = {NOW}, expires_at = {NOW} + 86400000000, locked_until = NULL, \
         session_id = NULL, status = 1, fingerprint = ?, result = ? \
         WHERE namespace = ? AND scope = ? AND `key` = ? AND attempt_id = ? AND status IN (0, 3)"
    );
    let done = sqlx::query(sqlx::AssertSqlSafe(text))
        .bind(fingerprint(cmd)?.as_bytes().to_vec())
        .bind(serde_json::to_vec(&paid)?)
        .bind(NAMESPACE.as_bytes())
        .bind(b"".as_slice())
        .bind(key.as_bytes())
        .bind(attempt)
        .execute(conn)
        .await?;
    if done.rows_affected() != 1 {
        return Err("the key is gone".into());
    }
    Ok(())
}

/// Inserts the key, runs the body and updates the key, in one transaction: two round trips more than plain.
pub(super) async fn hand(pool: &MySqlPool, key: &str, cmd: &Pay) -> Result<Paid, Fault> {
    let attempt = Uuid::new_v4();
    let mut tx = pool.begin().await?;
    insert_key(&mut tx, key, attempt, 0).await?;
    let paid = body(&mut tx, cmd).await?;
    update_key(&mut tx, key, attempt, cmd, paid).await?;
    tx.commit().await?;
    Ok(paid)
}

/// Inserts the key, runs the body and updates the key, each durable by itself.
pub(super) async fn hand_leased(pool: &MySqlPool, key: &str, cmd: &Pay) -> Result<Paid, Fault> {
    let attempt = Uuid::new_v4();
    insert_key(&mut *pool.acquire().await?, key, attempt, 3).await?;
    let paid = plain(pool, cmd).await?;
    update_key(&mut *pool.acquire().await?, key, attempt, cmd, paid).await?;
    Ok(paid)
}

/// Looks the record up, compares the request and returns the recorded result.
pub(super) async fn hand_replay(pool: &MySqlPool, key: &str, cmd: &Pay) -> Result<Paid, Fault> {
    let row = sqlx::query(
        "SELECT status, operation, fingerprint, result FROM idem_record \
         WHERE namespace = ? AND scope = ? AND `key` = ?",
    )
    .bind(NAMESPACE.as_bytes())
    .bind(b"".as_slice())
    .bind(key.as_bytes())
    .fetch_one(pool)
    .await?;
    let recorded: Vec<u8> = row.try_get("fingerprint")?;
    if recorded != fingerprint(cmd)?.as_bytes() {
        return Err("mismatch".into());
    }
    Ok(serde_json::from_slice(
        &row.try_get::<Vec<u8>, _>("result")?,
    )?)
}
