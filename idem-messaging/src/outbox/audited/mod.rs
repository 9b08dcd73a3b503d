//! What an operator does with events, each change with a row of `idem_audit` in its transaction.

mod health;
mod read;
mod state;

use idem_runtime::operate::{
    AuditedChange, Author, OperateBackend, OperateError, OperateSession, audited, cells,
};
use sqlx::Pool;

pub use self::health::{DeadEvent, OutboxHealth};
pub use self::read::{EventCount, EventDetail, EventFilter, EventSummary};
use self::read::{WIDTH, columns, summary};
pub use self::state::EventState;
use super::append::Outbox;
use super::event::EventId;
use super::store::DEAD;

/// Which dead events an operator means.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeadEvents {
    /// The event of this id.
    Id(EventId),
    /// All of this topic.
    Topic(String),
}

/// The statement that wakes the relays which listen, where there are any.
#[cfg(feature = "postgres")]
fn notification(database: &str, table: &str) -> Option<String> {
    (database == "PostgreSQL").then(|| super::store::postgres_notify(table))
}

#[cfg(not(feature = "postgres"))]
fn notification(_: &str, _: &str) -> Option<String> {
    None
}

impl Outbox {
    /// Wakes the relays of this process, and on PostgreSQL those that listen: a hint, which may be lost.
    async fn wake_all<DB: OperateBackend>(&self, pool: &Pool<DB>) {
        self.wake();
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        if let Some(hint) = notification(dialect.name, &self.table) {
            let _ = cells(pool, hint, &self.table).await;
        }
    }

    /// Counts the events of each topic and state, with the time of the oldest. Reads all of the table.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn count<DB: OperateBackend>(
        &self,
        pool: &Pool<DB>,
    ) -> Result<Vec<EventCount>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let statement = format!(
            "SELECT {}, {}, {}, {}, {} FROM {} GROUP BY topic, state ORDER BY topic, state",
            dialect.text_cell("topic"),
            dialect.number_cell("state"),
            dialect.number_cell("count(*)"),
            dialect.time_cell("min(appended_at)"),
            dialect.number_cell("max(attempts)"),
            dialect.table(&self.table),
        );
        let (rows, now) = cells(pool, statement, &self.table).await?;
        let paused = self.paused(pool).await?;
        Ok(rows
            .iter()
            .map(|row| read::count(row, now, &paused))
            .collect())
    }

    /// Returns the topics that are paused.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn paused<DB: OperateBackend>(
        &self,
        pool: &Pool<DB>,
    ) -> Result<Vec<String>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let table = format!("{}_paused", self.table);
        let statement = format!(
            "SELECT {} FROM {} ORDER BY topic",
            dialect.text_cell("topic"),
            dialect.table(&table)
        );
        let (rows, _) = cells(pool, statement, &table).await?;
        let topics = rows.iter().filter_map(|row| row.text(0));
        Ok(topics.map(ToOwned::to_owned).collect())
    }

    /// Returns events in the order of their appends, without their payloads.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn list<DB: OperateBackend>(
        &self,
        pool: &Pool<DB>,
        filter: &EventFilter,
    ) -> Result<Vec<EventSummary>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let statement = format!(
            "SELECT {} FROM {} WHERE {} ORDER BY seq LIMIT {}",
            columns(&dialect),
            dialect.table(&self.table),
            filter.condition(&dialect),
            filter.limit,
        );
        let (rows, now) = cells(pool, statement, &self.table).await?;
        Ok(rows.iter().map(|row| summary(row, now)).collect())
    }

    /// Returns an event with its payload; `None` if the outbox has none of this id.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn show<DB: OperateBackend>(
        &self,
        pool: &Pool<DB>,
        id: &EventId,
    ) -> Result<Option<EventDetail>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let statement = format!(
            "SELECT {}, {}, {}, {} FROM {} WHERE id = {}",
            columns(&dialect),
            dialect.text_cell("last_error"),
            dialect.text_cell("headers"),
            dialect.bytes_cell("payload"),
            dialect.table(&self.table),
            dialect.text(id.as_str()),
        );
        let (rows, now) = cells(pool, statement, &self.table).await?;
        let text = |row: &idem_runtime::operate::Cells, column| row.text(column).map(str::to_owned);
        Ok(rows.first().map(|row| EventDetail {
            summary: summary(row, now),
            last_error: text(row, WIDTH),
            headers: text(row, WIDTH + 1),
            payload: row.bytes(WIDTH + 2).unwrap_or_default(),
        }))
    }

    /// Gives dead events their attempts back, and returns their number. See [`requeue`](Self::requeue).
    ///
    /// # Errors
    /// - [`OperateError::AuditTable`] if the audit table cannot take the row.
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn requeue_audited<DB: OperateBackend>(
        &self,
        pool: &Pool<DB>,
        meant: &DeadEvents,
        author: &Author,
    ) -> Result<u64, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let (table, condition) = (dialect.table(&self.table), condition::<DB>(meant));
        let statement = |now| {
            vec![format!(
                "UPDATE {table} SET state = 0, due_at = {}, settled_at = NULL, attempts = 0 WHERE {condition}",
                dialect.time(now)
            )]
        };
        let rows = audited(pool, statement, author, &self.change("requeue", meant)).await?;
        self.wake_all(pool).await;
        Ok(rows.into_iter().sum())
    }

    /// Lets the publication of a paused topic go on, and returns how many events had been held; `None` if it was not paused
    /// and held none. See [`resume`](Self::resume).
    ///
    /// # Errors
    /// - [`OperateError::AuditTable`] if the audit table cannot take the row.
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn resume_audited<DB: OperateBackend>(
        &self,
        pool: &Pool<DB>,
        topic: &str,
        author: &Author,
    ) -> Result<Option<u64>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let paused = dialect.table(&format!("{}_paused", self.table));
        let (table, of_topic) = (dialect.table(&self.table), dialect.text(topic));
        // In this order: a claim holds an event only under a lock on the topic's row.
        let statements = |now| {
            vec![
                format!("DELETE FROM {paused} WHERE topic = {of_topic}"),
                format!(
                    "UPDATE {table} SET state = 0, due_at = {} WHERE state = {} AND topic = {of_topic}",
                    dialect.time(now),
                    EventState::Held.code()
                ),
            ]
        };
        let meant = DeadEvents::Topic(topic.to_owned());
        let rows = audited(pool, statements, author, &self.change("resume", &meant)).await?;
        self.wake_all(pool).await;
        let is_changed = rows.iter().any(|rows| *rows > 0);
        Ok(rows.last().copied().filter(|_| is_changed))
    }

    /// Deletes dead events, and returns their number: **they are never published.**
    ///
    /// # Errors
    /// - [`OperateError::AuditTable`] if the audit table cannot take the row.
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn drop_audited<DB: OperateBackend>(
        &self,
        pool: &Pool<DB>,
        meant: &DeadEvents,
        author: &Author,
    ) -> Result<u64, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let (table, condition) = (dialect.table(&self.table), condition::<DB>(meant));
        let statement = |_| vec![format!("DELETE FROM {table} WHERE {condition}")];
        let rows = audited(pool, statement, author, &self.change("drop", meant)).await?;
        Ok(rows.into_iter().sum())
    }

    fn change<'a>(&'a self, action: &'a str, meant: &'a DeadEvents) -> AuditedChange<'a> {
        let (event_id, scope) = match meant {
            DeadEvents::Id(id) => (Some(id.as_str()), None),
            DeadEvents::Topic(topic) => (None, Some(topic.as_str())),
        };
        AuditedChange {
            action,
            on_table: &self.table,
            // Of a topic's events, the topic stands where a record's scope does.
            scope,
            event_id,
            ..AuditedChange::default()
        }
    }
}

fn condition<DB: OperateBackend>(meant: &DeadEvents) -> String {
    let dialect = <DB::Connection as OperateSession>::DIALECT;
    let which = match meant {
        DeadEvents::Id(id) => format!("id = {}", dialect.text(id.as_str())),
        DeadEvents::Topic(topic) => format!("topic = {}", dialect.text(topic)),
    };
    format!("state = {DEAD} AND {which}")
}
