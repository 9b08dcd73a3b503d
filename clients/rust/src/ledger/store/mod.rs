//! What the ledger asks of a database, and a folder for each dialect.
//!
//! The states of a row: 0 open, 1 answered, 2 refused. An answer is written only to an open row, by one statement.

mod entry;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::time::Duration;

use bytes::Bytes;
use idem_messaging::outbox::OutboxDatabase;

pub(super) use self::entry::EntryRow;

pub(super) const OPEN: i16 = 0;
pub(super) const ANSWERED: i16 = 1;
pub(super) const REFUSED: i16 = 2;

/// A database that can hold a ledger: PostgreSQL, MySQL and MariaDB, SQLite. It is implemented here and nowhere else.
pub trait LedgerDatabase: OutboxDatabase + dialect::Statements {}

impl<DB: OutboxDatabase + dialect::Statements> LedgerDatabase for DB {}

/// A request that is to be sent.
pub struct RequestRow {
    pub(super) key: String,
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: String,
    pub(super) body: Vec<u8>,
}

/// An answer that is to be recorded.
pub struct AnswerRow {
    pub(super) state: i16,
    pub(super) status: i16,
    pub(super) headers: String,
    pub(super) body: Bytes,
}

pub(crate) mod dialect {
    //! Outside the crate, nobody can name the trait and implement it.

    use sqlx::{Database, Error};

    use super::{AnswerRow, EntryRow, RequestRow};
    use crate::ledger::request::StoredRequest;

    type StoreResult<T> = Result<T, Error>;

    /// The statements of a dialect.
    pub trait Statements: Database {
        /// Inserts a request. Returns whether it was inserted; otherwise the table has one of its id.
        fn insert_request(
            conn: &mut Self::Connection,
            request: &StoredRequest,
        ) -> impl Future<Output = StoreResult<bool>> + Send;

        /// Returns an open request.
        fn open_request(
            conn: &mut Self::Connection,
            id: &str,
        ) -> impl Future<Output = StoreResult<Option<RequestRow>>> + Send;

        /// Records the answer to an open request.
        fn record_answer(
            conn: &mut Self::Connection,
            id: &str,
            answer: &AnswerRow,
        ) -> impl Future<Output = StoreResult<()>> + Send;

        /// Looks a request up, with its event in the queue, in one statement.
        fn look_up_request(
            conn: &mut Self::Connection,
            id: &str,
        ) -> impl Future<Output = StoreResult<Option<EntryRow>>> + Send;

        /// Deletes at most `limit` requests that were settled more than `micros` microseconds ago.
        fn purge_requests(
            conn: &mut Self::Connection,
            micros: i64,
            limit: u32,
        ) -> impl Future<Output = StoreResult<u64>> + Send;

        /// Creates the table, unless it exists.
        fn create_ledger(
            conn: &mut Self::Connection,
        ) -> impl Future<Output = StoreResult<()>> + Send;

        /// Returns in words what makes the table unfit.
        fn verify_ledger(
            conn: &mut Self::Connection,
        ) -> impl Future<Output = StoreResult<Vec<String>>> + Send;
    }
}

/// Returns a time in microseconds; a time that is too long is as long as it can be.
pub(super) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX / 4)
}
