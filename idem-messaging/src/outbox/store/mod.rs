//! What the outbox asks of a database, and a folder for each dialect.
//!
//! The states of a row, and who changes them:
//!
//! | state | code | `due_at` | becomes |
//! |---|---|---|---|
//! | pending | 0 | when it may be claimed: delivery, end of backoff, end of lease (PostgreSQL has the lease apart) | any other, by a claim or a settlement |
//! | published | 1 | - | pending, by `republish`; deleted, by `purge` |
//! | dead | 2 | - | pending, by `requeue` |
//! | waiting | 3 | - | pending, when the events before it have left |
//! | held | 4 | - | pending, by `resume` of its topic |
//!
//! **Order.** A claim takes an event with a partition key only if it sees no earlier event of the partition that has not
//! left, other than those that it takes itself. An append that began after another was committed has the greater `seq`,
//! and whoever sees it sees the other: so it leaves after it, whatever else commits when.
//!
//! **Waiting.** A claim that finds an event behind another one takes it out of the index that claims read (state 3), so
//! that each is looked at once. Somebody must bring it back. The claim does so only under a lock on the event in front,
//! and whoever lets that one leave looks for waiting events in a *later statement* of the same transaction. So either
//! the claim finds the event in front gone, or whoever lets it leave sees what waits.

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(all(feature = "operate", feature = "postgres"))]
pub(super) use self::postgres::postgres_notify;
#[cfg(any(feature = "mysql", feature = "sqlite"))]
mod verdict;

use std::time::Duration;

use idem_runtime::record::Timestamp;
use sqlx::{Database, Error};
use uuid::Uuid;

use super::event::Event;
use super::publisher::OutboxEvent;
use super::wake::Ears;

/// How many waiting events of one partition become pending at once, after the event in front has left.
pub(crate) const PROMOTED: u32 = 100;

/// A database that can hold an outbox: PostgreSQL, MySQL and MariaDB, SQLite. It is implemented here and nowhere else.
pub trait OutboxDatabase: Database + dialect::Store {}

impl<DB: Database + dialect::Store> OutboxDatabase for DB {}

/// Which events to claim.
#[derive(Debug, Clone, Copy)]
pub struct ClaimRequest {
    pub(crate) limit: u32,
    pub(crate) lease: Duration,
    pub(crate) token: Uuid,
}

/// What a claim has got.
#[derive(Debug, Default)]
pub struct Claimed {
    /// In the order of their `seq`.
    pub(crate) events: Vec<ClaimedEvent>,
    /// How many events were due, but wait for another event or for their topic. There may be more behind them.
    pub(crate) put_aside: u64,
}

/// One claimed event.
#[derive(Debug)]
pub(crate) struct ClaimedEvent {
    pub(crate) seq: i64,
    pub(crate) event: OutboxEvent,
}

/// What became of a claimed event.
#[derive(Debug, Clone)]
pub struct Settlement {
    pub(crate) seq: i64,
    pub(crate) token: Uuid,
    /// Topic and partition key, if the event has one.
    pub(crate) partition: Option<(String, String)>,
    pub(crate) outcome: Settled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Settled {
    Published,
    Retry {
        after: Duration,
        error: String,
    },
    Dead {
        error: String,
    },
    /// Nobody has tried to publish it, or nobody could. It is due again after this time, so that a broker that is down
    /// does not keep what goes elsewhere from being claimed.
    Released {
        after: Duration,
    },
}

impl Settled {
    /// Whether the event lets the next one of its partition go.
    pub(crate) fn leaves(&self) -> bool {
        matches!(self, Self::Published | Self::Dead { .. })
    }
}

/// What became of an event that was to be inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insertion {
    Inserted,
    /// The table has an event of its id.
    Duplicate,
    /// The connection is in no transaction, although sqlx has one open: the event would have stood alone.
    NoTransaction,
}

/// What a look at the whole outbox shows.
#[cfg(any(feature = "metrics", feature = "operate"))]
#[derive(Debug, Clone, Copy)]
pub struct OutboxSample {
    /// Pending events, of the first [`COUNTED`].
    pub(crate) pending: i64,
    /// Dead events, of the first [`COUNTED`].
    pub(crate) dead: i64,
    /// The microseconds since the oldest event that is due was appended, or 0 if there is none.
    pub(crate) oldest: i64,
}

/// How many events of one state a look counts.
#[cfg(any(feature = "metrics", feature = "operate"))]
pub(crate) const COUNTED: u32 = 10_000;

/// Among how many of the events that are due first a look searches the oldest.
#[cfg(any(feature = "metrics", feature = "operate"))]
pub(crate) const SEARCHED: u32 = 1_000;

/// Which events an operator means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    Id(String),
    Topic(String),
    /// Appended from the first time on, and before the second.
    Between(Timestamp, Timestamp),
}

pub(crate) mod dialect {
    //! Outside the crate, nobody can name the trait and implement it.

    use std::convert::Infallible;
    use std::future::pending;

    use sqlx::Pool;

    #[cfg(any(feature = "metrics", feature = "operate"))]
    use super::OutboxSample;
    use super::{
        ClaimRequest, Claimed, Database, Duration, Ears, Error, Event, Insertion, Selection,
        Settlement, Uuid,
    };

    type StoreResult<T> = Result<T, Error>;

    /// The statements of a dialect. `table` is a checked identifier.
    pub trait Store: Database {
        /// The migration of the default table.
        const MIGRATION: &'static str;
        /// Whether the relay opens a connection of its own. Otherwise it borrows one of the pool's: a second connection
        /// to a database in memory is another database.
        const OWN_CONNECTION: bool;

        /// What is remembered between two claims of one connection, so that the next one reads less.
        type Horizon: Default + Send;

        /// Inserts an event, and nothing outside of a transaction: either it says that there is none, or it begins one
        /// that nobody but the caller can commit.
        fn insert(
            conn: &mut Self::Connection,
            table: &str,
            event: &Event,
        ) -> impl Future<Output = StoreResult<Insertion>> + Send;

        /// Waits until no other transaction has locked the partition, and locks it until the end of this one.
        fn lock_partition(
            conn: &mut Self::Connection,
            table: &str,
            topic: &str,
            partition_key: &str,
        ) -> impl Future<Output = StoreResult<()>> + Send;

        /// Claims events that are due, in a transaction of its own.
        fn claim(
            conn: &mut Self::Connection,
            table: &str,
            request: ClaimRequest,
            horizon: &mut Self::Horizon,
        ) -> impl Future<Output = StoreResult<Claimed>> + Send;

        /// Writes what became of events that were claimed, in a transaction of its own. Returns `seq` and
        /// token of those that still carried their claim's token; nothing is written of others.
        fn settle(
            conn: &mut Self::Connection,
            table: &str,
            settlements: &[Settlement],
            keep: bool,
            horizon: &Self::Horizon,
        ) -> impl Future<Output = StoreResult<Vec<(i64, Uuid)>>> + Send;

        /// Makes settled events of `state` pending, with their attempts from the start.
        fn revive(
            conn: &mut Self::Connection,
            table: &str,
            state: i16,
            selection: &Selection,
        ) -> impl Future<Output = StoreResult<u64>> + Send;

        /// Pauses a topic.
        fn pause(
            conn: &mut Self::Connection,
            table: &str,
            topic: &str,
        ) -> impl Future<Output = StoreResult<()>> + Send;

        /// Resumes a topic, and makes at most `limit` of its held events pending.
        fn resume(
            conn: &mut Self::Connection,
            table: &str,
            topic: &str,
            limit: u32,
        ) -> impl Future<Output = StoreResult<u64>> + Send;

        /// Deletes at most `limit` events of `state` that were settled longer ago than `retention`.
        fn purge(
            conn: &mut Self::Connection,
            table: &str,
            state: i16,
            retention: Duration,
            limit: u32,
        ) -> impl Future<Output = StoreResult<u64>> + Send;

        /// Looks at the whole outbox, for its metrics.
        #[cfg(any(feature = "metrics", feature = "operate"))]
        fn sample(
            conn: &mut Self::Connection,
            table: &str,
        ) -> impl Future<Output = StoreResult<OutboxSample>> + Send;

        /// Listens for commits of appends in any process, for ever. Where the database has no notifications, nothing is
        /// heard. After `keepalive` without one the connection is tried.
        fn listen(
            pool: &Pool<Self>,
            table: &str,
            ears: &Ears,
            keepalive: Duration,
        ) -> impl Future<Output = Infallible> + Send {
            let _ = (pool, table, ears, keepalive);
            pending()
        }

        /// Creates the tables from the text of the migration, unless they exist.
        fn create(
            conn: &mut Self::Connection,
            table: &str,
            migration: String,
        ) -> impl Future<Output = StoreResult<()>> + Send;

        /// Returns in words what makes the table unfit.
        fn verify(
            conn: &mut Self::Connection,
            table: &str,
        ) -> impl Future<Output = StoreResult<Vec<String>>> + Send;
    }
}

pub(crate) const PUBLISHED: i16 = 1;
pub(crate) const DEAD: i16 = 2;

/// Returns a time as the microseconds of SQL text; a time that is too long is as long as it can be.
pub(crate) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX / 4)
}
