//! What became of claimed events, written under the tokens of their claims.

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, Error, SqliteTransaction};
use uuid::Uuid;

use super::sql;
use crate::outbox::store::{Settled, Settlement, micros};

pub(super) async fn settle(
    tx: &mut SqliteTransaction<'_>,
    table: &str,
    settlements: &[Settlement],
    keep: bool,
) -> Result<Vec<(i64, Uuid)>, Error> {
    let mut written = Vec::new();
    let mut left = BTreeSet::new();
    for Settlement {
        seq,
        token,
        partition,
        outcome,
    } in settlements
    {
        let text = match outcome {
            Settled::Published if keep => sql::keep(table),
            Settled::Published => sql::delete(table),
            Settled::Dead { .. } => sql::bury(table),
            Settled::Retry { .. } => sql::retry(table),
            Settled::Released { .. } => sql::release(table),
        };
        let query = sqlx::query(AssertSqlSafe(text)).bind(seq).bind(token);
        let query = match outcome {
            Settled::Dead { error } => query.bind(error),
            Settled::Retry { after, error } => query.bind(error).bind(micros(*after)),
            Settled::Released { after } => query.bind(micros(*after)),
            Settled::Published => query,
        };
        if query.execute(&mut **tx).await?.rows_affected() == 1 {
            written.push((*seq, *token));
        }
        if let (true, Some(partition)) = (outcome.leaves(), partition) {
            left.insert(partition);
        }
    }
    for (topic, key) in left {
        sqlx::query(AssertSqlSafe(sql::promote(table)))
            .bind(topic)
            .bind(key)
            .execute(&mut **tx)
            .await?;
    }
    Ok(written)
}
