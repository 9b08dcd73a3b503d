//! How an outbox is, through its indexes and with a bound.

use std::time::Duration;

use idem_runtime::Error;
use idem_runtime::operate::{Cells, OperateBackend, OperateError, OperateSession, cells};
use idem_runtime::record::Timestamp;
use sqlx::Pool;

use super::super::append::Outbox;
use super::super::connection::OutboxConnection;
use super::super::store::{COUNTED, DEAD, OutboxDatabase, OutboxSample};
use super::read::{EventSummary, columns, summary};

/// How an outbox is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxHealth {
    /// The events that are due or will be, at most 10,000. Those that wait behind another one, or for their topic, are not
    /// among them.
    pub pending: u64,
    /// The events that were set aside, at most 10,000.
    pub dead: u64,
    /// The time since the oldest event that is due was appended.
    pub oldest_age: Option<Duration>,
    /// Whether one of the numbers is 10,000, and may be greater.
    pub is_cut: bool,
}

/// A dead event with the error of its last attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadEvent {
    /// The event.
    pub summary: EventSummary,
    /// Why it was set aside, in the broker's or the publisher's words.
    pub last_error: Option<String>,
}

impl Outbox {
    /// Looks at the outbox: one query, by its indexes.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn health<DB: OperateBackend + OutboxDatabase>(
        &self,
        pool: &Pool<DB>,
    ) -> Result<OutboxHealth, OperateError> {
        let sample = match look(pool, &self.table).await {
            Ok(sample) => sample,
            Err(error) => return Err(self.why(pool, error).await),
        };
        let number = |count: i64| count.max(0).unsigned_abs();
        let (pending, dead) = (number(sample.pending), number(sample.dead));
        let oldest = Duration::from_micros(number(sample.oldest));
        Ok(OutboxHealth {
            pending,
            dead,
            oldest_age: (!oldest.is_zero()).then_some(oldest),
            is_cut: pending.max(dead) >= u64::from(COUNTED),
        })
    }

    /// Says of the table what is wrong with it, or else returns the error.
    async fn why<DB: OperateBackend>(&self, pool: &Pool<DB>, error: sqlx::Error) -> OperateError {
        let error = match error {
            sqlx::Error::Database(_) | sqlx::Error::ColumnDecode { .. } => {
                match self.dead_events(pool, None, 1).await {
                    Err(found) => return found,
                    Ok(_) => Error::Database(error.into()),
                }
            }
            _ => Error::Unavailable(error.into()),
        };
        error.into()
    }

    /// Returns dead events, those first that were set aside last. `before` is [`EventSummary::settled_at`] of the last one that
    /// was seen; events set aside in the same microsecond as that one are not seen again.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn dead_events<DB: OperateBackend>(
        &self,
        pool: &Pool<DB>,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<DeadEvent>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let earlier = before.map(|before| format!(" AND settled_at < {}", dialect.time(before)));
        // The second condition is that of the index, where it has one.
        let statement = format!(
            "SELECT {}, {} FROM {} WHERE state = {DEAD} AND state IN (1, 2){} ORDER BY settled_at DESC LIMIT {limit}",
            columns(&dialect),
            dialect.text_cell("last_error"),
            dialect.table(&self.table),
            earlier.unwrap_or_default(),
        );
        let (rows, now) = cells(pool, statement, &self.table).await?;
        let event = |row: &Cells| DeadEvent {
            summary: summary(row, now),
            last_error: row.text(super::WIDTH).map(str::to_owned),
        };
        Ok(rows.iter().map(event).collect())
    }
}

async fn look<DB: OutboxDatabase>(
    pool: &Pool<DB>,
    table: &str,
) -> Result<OutboxSample, sqlx::Error> {
    let mut conn = OutboxConnection::from_pool(pool).await?;
    let sample = DB::sample(conn.get(), table).await?;
    conn.finish();
    Ok(sample)
}
