//! A row for the key, as textbooks describe it: inserted as started, updated to completed.

use idem_runtime::IdempotencyKey;
use sha2::{Digest as _, Sha256};
use sqlx::{Acquire as _, PgConnection, PgPool};

use crate::Fault;
use crate::work::{Paid, Pay, one};

pub(crate) const TABLE: &str = "\
CREATE TABLE idempotency_record (
    scope varchar(200) NOT NULL,
    idempotency_key varchar(200) NOT NULL,
    request_hash varchar(128) NOT NULL,
    status varchar(30) NOT NULL,
    response_status int,
    response_body text,
    created_at timestamptz NOT NULL DEFAULT now(),
    locked_until timestamptz,
    completed_at timestamptz,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (scope, idempotency_key)
) WITH (autovacuum_enabled = off);
CREATE INDEX ON idempotency_record (expires_at);";

/// Makes the payment in one transaction with both writes of the row. Returns it, and whether it is a
/// replay.
pub(crate) async fn in_one_transaction(
    pool: &PgPool,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<(Paid, bool), Fault> {
    let hash = hash(cmd)?;
    let mut conn = pool.acquire().await?;
    let mut tx = conn.begin().await?;
    if !started(&mut tx, key, &hash).await? {
        let paid = recorded(&mut tx, key, &hash).await?;
        tx.rollback().await?;
        return Ok((paid, true));
    }
    let paid = one(&mut tx, cmd).await?;
    complete(&mut tx, key, paid).await?;
    tx.commit().await?;
    Ok((paid, false))
}

pub(crate) fn hash(cmd: &Pay) -> Result<String, Fault> {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(serde_json::to_vec(cmd)?) {
        write!(hex, "{byte:02x}")?;
    }
    Ok(hex)
}

/// Inserts the key. Returns whether it was free; this call then owns it.
pub(crate) async fn started(
    conn: &mut PgConnection,
    key: &IdempotencyKey,
    hash: &str,
) -> Result<bool, sqlx::Error> {
    let inserted = sqlx::query(
        "INSERT INTO idempotency_record (scope, idempotency_key, request_hash, status, expires_at) \
         VALUES ('pay_one', $1, $2, 'STARTED', now() + interval '24 hours') \
         ON CONFLICT (scope, idempotency_key) DO NOTHING",
    )
    .bind(key.as_str())
    .bind(hash)
    .execute(conn)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

pub(crate) async fn recorded(
    conn: &mut PgConnection,
    key: &IdempotencyKey,
    hash: &str,
) -> Result<Paid, Fault> {
    let (found, status, response): (String, String, Option<String>) = sqlx::query_as(
        "SELECT request_hash, status, response_body FROM idempotency_record \
         WHERE scope = 'pay_one' AND idempotency_key = $1",
    )
    .bind(key.as_str())
    .fetch_one(conn)
    .await?;
    if found != hash {
        return Err("mismatch".into());
    }
    match response {
        Some(response) if status == "COMPLETED" => Ok(serde_json::from_str(&response)?),
        _ => Err("in progress".into()),
    }
}

pub(crate) async fn complete(
    conn: &mut PgConnection,
    key: &IdempotencyKey,
    paid: Paid,
) -> Result<(), Fault> {
    let updated = sqlx::query(
        "UPDATE idempotency_record SET status = 'COMPLETED', response_status = 201, response_body = $2, \
         completed_at = now() WHERE scope = 'pay_one' AND idempotency_key = $1 AND status = 'STARTED'",
    )
    .bind(key.as_str())
    .bind(serde_json::to_string(&paid)?)
    .execute(conn)
    .await?;
    if updated.rows_affected() == 1 {
        Ok(())
    } else {
        Err("the key is not started".into())
    }
}
