//! Appending events in the transaction of their effect.

use std::borrow::Cow;

use sqlx::Transaction;

use super::error::OutboxError;
use super::event::{Event, EventId};
use super::store::{Insertion, OutboxDatabase};
use super::table::{DEFAULT_TABLE, checked};
use super::wake::Wake;

/// An outbox: a table that takes events in the transaction of their effect, and from which a [`Relay`](super::Relay)
/// publishes them.
///
/// Clones share the hint that wakes the relays of this process.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # async fn example(tx: &mut sqlx::SqliteTransaction<'_>, key: &idem_runtime::IdempotencyKey)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// use idem_messaging::outbox::{Event, Origin, Outbox};
/// use idem_runtime::Operation;
///
/// const ESCALATE: Operation = Operation::new("cases", "escalate");
///
/// let outbox = Outbox::new();
/// // In the body of the handler:
/// let event = Event::builder(&Origin::of(ESCALATE, key)?, "escalated")
///     .topic("cases")
///     .event_type("com.example.case.escalated.v1")
///     .partition_key("case-17")
///     .json(&serde_json::json!({ "case": 17 }))
///     .build()?;
/// outbox.append(tx, event).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Outbox {
    pub(super) table: Cow<'static, str>,
    pub(super) wake: Wake,
}

impl Default for Outbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Outbox {
    /// Creates an outbox on the default table, `idem_outbox`.
    pub fn new() -> Self {
        Self {
            table: Cow::Borrowed(DEFAULT_TABLE),
            wake: Wake::default(),
        }
    }

    /// Sets another table: `[schema.]name`, each `[a-z_][a-z0-9_]*` and at most 48 bytes.
    ///
    /// # Errors
    /// [`OutboxError::Table`] if the text is no such name, because it is spliced into SQL text.
    pub fn table(mut self, table: &str) -> Result<Self, OutboxError> {
        self.table = checked(table)?;
        Ok(self)
    }

    /// Appends an event to the transaction: one INSERT. It leaves if and only if the transaction is committed.
    ///
    /// A body that has ended its transaction itself, by a raw `COMMIT`, cannot append an event that stands alone: the append
    /// is refused, or begins a transaction that the handler undoes (SQLite). MySQL, unlike MariaDB, has no way to find that
    /// out in the same statement: there the event stands, and the handler still answers that its transaction was ended.
    ///
    /// An append that begins after the transaction of another was committed leaves after it, if both have one topic and
    /// one partition key. Events of concurrent transactions may leave in either order; if theirs matters, use
    /// [`append_ordered`](Self::append_ordered).
    ///
    /// # Errors
    /// - [`OutboxError::NoTransaction`] if the transaction was ended by a raw `COMMIT` or `ROLLBACK`.
    /// - [`OutboxError::Duplicate`] if the outbox has an event of this id: two events of one call have one label.
    /// - Any error of the database. On PostgreSQL the transaction is then aborted.
    pub async fn append<DB: OutboxDatabase>(
        &self,
        tx: &mut Transaction<'_, DB>,
        event: Event,
    ) -> Result<EventId, OutboxError> {
        match DB::insert(tx, &self.table, &event).await? {
            Insertion::Inserted => {
                self.wake.wake();
                Ok(event.id)
            }
            Insertion::Duplicate => Err(OutboxError::Duplicate { id: event.id }),
            Insertion::NoTransaction => Err(OutboxError::NoTransaction),
        }
    }

    /// Appends an event as [`append`](Self::append) does, and keeps others from appending to its partition by this
    /// method until the transaction ends. So the events of the partition leave in the order in which they were committed.
    ///
    /// It costs one statement more, and transactions of one partition run one after another. Append last, and to several
    /// partitions always in the same order: otherwise two transactions can deadlock, and the database ends one.
    ///
    /// # Errors
    /// - [`OutboxError::NoPartitionKey`] if the event has no partition key.
    /// - The errors of [`append`](Self::append).
    pub async fn append_ordered<DB: OutboxDatabase>(
        &self,
        tx: &mut Transaction<'_, DB>,
        event: Event,
    ) -> Result<EventId, OutboxError> {
        let key = event.partition_key().ok_or(OutboxError::NoPartitionKey)?;
        DB::lock_partition(tx, &self.table, event.topic(), key).await?;
        self.append(tx, event).await
    }

    /// Wakes a relay of this process, for example after the transaction of an append was committed. It is a hint: an
    /// append gives one too, and without any the relay finds the event at its next poll.
    pub fn wake(&self) {
        self.wake.wake();
    }
}
