//! What became of claimed events, written under the tokens of their claims.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{AssertSqlSafe, Error, MySqlTransaction};
use uuid::Uuid;

use super::{execute, sql};
use crate::outbox::store::verdict::list;
use crate::outbox::store::{Settled, Settlement, micros};

/// Locks the events first: then the tokens are those of the last claim, and whoever has found one of them in front of
/// another event has committed what it wrote.
pub(super) async fn settle(
    tx: &mut MySqlTransaction<'_>,
    table: &str,
    settlements: &[Settlement],
    keep: bool,
) -> Result<Vec<(i64, Uuid)>, Error> {
    let seqs: Vec<_> = settlements
        .iter()
        .map(|settlement| settlement.seq)
        .collect();
    let owners: Vec<(i64, Uuid)> = sqlx::query_as(AssertSqlSafe(sql::owners(table, &list(&seqs))))
        .persistent(false)
        .fetch_all(&mut **tx)
        .await?;
    let owners: BTreeMap<_, _> = owners.into_iter().collect();
    let (mut written, mut published, mut released) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut left = BTreeSet::new();
    for Settlement {
        seq,
        token,
        partition,
        outcome,
    } in settlements
    {
        if outcome.leaves() {
            left.extend(partition);
        }
        if owners.get(seq) != Some(token) {
            continue;
        }
        written.push((*seq, *token));
        match outcome {
            Settled::Published => published.push(*seq),
            Settled::Released { after } => {
                released
                    .entry(micros(*after))
                    .or_insert_with(Vec::new)
                    .push(*seq);
            }
            Settled::Dead { error } => {
                let query = sqlx::query(AssertSqlSafe(sql::bury(table))).bind(error.as_bytes());
                query.bind(seq).execute(&mut **tx).await?;
            }
            Settled::Retry { after, error } => {
                let query = sqlx::query(AssertSqlSafe(sql::retry(table))).bind(error.as_bytes());
                query
                    .bind(micros(*after))
                    .bind(seq)
                    .execute(&mut **tx)
                    .await?;
            }
        }
    }
    if !published.is_empty() {
        let published = list(&published);
        let text = if keep {
            sql::keep(table, &published)
        } else {
            sql::delete(table, &published)
        };
        execute(tx, text).await?;
    }
    for (wait, seqs) in released {
        execute(tx, sql::release(table, wait, &list(&seqs))).await?;
    }
    for (topic, key) in left {
        promote(tx, table, topic, key).await?;
    }
    Ok(written)
}

/// Makes the first waiting events of a partition pending, if the events in front of them have left.
async fn promote(
    tx: &mut MySqlTransaction<'_>,
    table: &str,
    topic: &str,
    key: &str,
) -> Result<(), Error> {
    let first: Vec<(i64, i16)> = sqlx::query_as(AssertSqlSafe(sql::first(table)))
        .bind(topic.as_bytes())
        .bind(key.as_bytes())
        .fetch_all(&mut **tx)
        .await?;
    if first.first().is_none_or(|(_, state)| *state != 3) {
        return Ok(());
    }
    let waiting = first.iter().filter(|(_, state)| *state == 3);
    let waiting: Vec<_> = waiting.map(|(seq, _)| *seq).collect();
    execute(tx, sql::promote(table, &list(&waiting))).await?;
    Ok(())
}
