//! A row for the key, as textbooks describe it, by the style that the peer follows.

use idem_runtime::IdempotencyKey;
use sqlx::{Acquire as _, PgPool};

use crate::Fault;
use crate::peer::Style;
use crate::textbook::{complete, hash, in_one_transaction, recorded, started};
use crate::work::{Paid, Pay, one};

/// Makes the payment. Returns it, and whether it is a replay.
pub(crate) async fn pay(
    style: Style,
    pool: &PgPool,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<(Paid, bool), Fault> {
    match style {
        Style::OneTransaction => in_one_transaction(pool, key, cmd).await,
        Style::ClaimFirst => claimed_first(pool, key, cmd).await,
    }
}

/// Commits the claim alone, and then the payment with the completed row.
async fn claimed_first(
    pool: &PgPool,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<(Paid, bool), Fault> {
    let hash = hash(cmd)?;
    let mut conn = pool.acquire().await?;
    if !started(&mut conn, key, &hash).await? {
        return Ok((recorded(&mut conn, key, &hash).await?, true));
    }
    let mut tx = conn.begin().await?;
    let paid = one(&mut tx, cmd).await?;
    complete(&mut tx, key, paid).await?;
    tx.commit().await?;
    Ok((paid, false))
}
