//! The records of a test: read, made old, deleted.

use std::fmt;

use serde::de::DeserializeOwned;
use sqlx::Pool;

use crate::operate::{
    OperateBackend, OperateSession, Operator, RecordDetail, RecordKey, StoredStatus, clock,
};
use crate::values::failure::StoredFailure;
use crate::values::key::{IdempotencyKey, Namespace};
use crate::values::record::Timestamp;
use crate::values::spec::OperationSpec;

/// One second, in microseconds.
const SECOND: i64 = 1_000_000;

/// The records of an operation's namespace and table.
///
/// The keys carry a [`Scope`](crate::Scope), as those of calls do. Times are set by the database's clock, to one second ago.
pub struct Records<DB: OperateBackend> {
    pool: Pool<DB>,
    operator: Operator<DB>,
    namespace: Namespace,
}

impl<DB: OperateBackend> fmt::Debug for Records<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records")
            .field("namespace", &self.namespace)
            .field("operator", &self.operator)
            .finish_non_exhaustive()
    }
}

impl<DB: OperateBackend> Records<DB> {
    /// Names the records of an operation: that of a handler's `marker`, `Records::of(&pool, PlaceOrder::OPERATION)`, or a
    /// constant.
    ///
    /// # Panics
    /// Panics if the operation's table has no name that SQL accepts, which its constructor has excluded.
    pub fn of(pool: &Pool<DB>, operation: impl Into<OperationSpec>) -> Self {
        let operation = operation.into();
        Self::new(pool, operation.namespace(), operation.table_name())
    }

    /// Names the records of a namespace in the default table, for handlers without a `marker`.
    ///
    /// # Panics
    /// Panics if the text is no namespace.
    pub fn in_namespace(pool: &Pool<DB>, namespace: &str) -> Self {
        Self::new(pool, namespace, crate::values::spec::DEFAULT_TABLE)
    }

    fn new(pool: &Pool<DB>, namespace: &str, table: &str) -> Self {
        let operator = Operator::new(pool.clone()).table(table);
        Self {
            pool: pool.clone(),
            operator: unwrap(operator, "the table"),
            namespace: unwrap(Namespace::new(namespace), "the namespace"),
        }
    }

    /// Returns the record of a key, or `None` if it has none.
    ///
    /// # Panics
    /// Panics if the key carries no scope, or if the database refuses the statement.
    pub async fn record_of(&self, key: &IdempotencyKey) -> Option<StoredRecord> {
        let found = self.operator.show(&self.name(key)).await;
        unwrap(found, "the record").map(StoredRecord)
    }

    /// Ends the retention of a record. It is replayed until it is purged all the same, unless the handler has
    /// `expiry = "strict"`; a purge deletes it.
    ///
    /// # Panics
    /// Panics if the key has no record that expires, as leases and unknown outcomes do not, and as
    /// [`record_of`](Self::record_of).
    pub async fn expire(&self, key: &IdempotencyKey) {
        let past = self.a_second_ago().await;
        let set = format!("UPDATE {{}} SET expires_at = {past} WHERE status IN (1, 2, 5) AND");
        let changed = self.change(&set, key).await;
        assert!(changed == 1, "the key has no record that could expire");
    }

    /// Ends a lease, as if its holder had been silent for too long: the next call takes it over, or finds its outcome unknown.
    /// A run that still holds it extends it at its next heartbeat, after a third of the lease or less.
    ///
    /// # Panics
    /// Panics if the key has no lease, and as [`record_of`](Self::record_of).
    pub async fn lapse(&self, key: &IdempotencyKey) {
        let past = self.a_second_ago().await;
        let set = format!("UPDATE {{}} SET locked_until = {past} WHERE status = 3 AND");
        let changed = self.change(&set, key).await;
        assert!(changed == 1, "the key has no lease that could lapse");
    }

    /// Deletes the record of a key: the next call runs the body.
    ///
    /// # Panics
    /// Panics if the key has no record, and as [`record_of`](Self::record_of).
    pub async fn forget(&self, key: &IdempotencyKey) {
        let changed = self.change("DELETE FROM {} WHERE", key).await;
        assert!(changed == 1, "the key has no record to forget");
    }

    fn name(&self, key: &IdempotencyKey) -> RecordKey {
        let Some(scope) = key.scope() else {
            panic!(
                "the key has no scope: give it that of the call, `key.scoped(..)` or `key.global()`"
            )
        };
        RecordKey::new(self.namespace.clone(), scope.clone(), key)
    }

    async fn a_second_ago(&self) -> String {
        let mut conn = unwrap(self.pool.acquire().await, "a connection");
        let now = clock(&mut *conn, self.operator.table_name()).await;
        let past = unwrap(now, "the clock").as_micros() - SECOND;
        <DB::Connection as OperateSession>::DIALECT.time(Timestamp::from_micros(past))
    }

    /// Sends a statement on the record of a key; `{}` stands for the table. Returns the number of changed rows.
    async fn change(&self, statement: &str, key: &IdempotencyKey) -> u64 {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let (name, table) = (self.name(key), self.operator.table_name());
        let statement = format!(
            "{} namespace = {} AND scope = {} AND {} = {}",
            statement.replace("{}", &dialect.table(table)),
            dialect.text(name.namespace()),
            dialect.text(name.scope()),
            dialect.key,
            dialect.text(name.key()),
        );
        let mut conn = unwrap(self.pool.acquire().await, "a connection");
        unwrap(conn.change(statement, table).await, "the statement")
    }
}

/// Returns what a test needs, or panics.
#[track_caller]
fn unwrap<T, E: fmt::Display>(found: Result<T, E>, what: &str) -> T {
    match found {
        Ok(found) => found,
        Err(error) => panic!("{what}: {error}"),
    }
}

/// One record, as it is stored.
///
/// `Debug` leaves out what may be personal data.
#[derive(Debug, Clone)]
pub struct StoredRecord(RecordDetail);

impl StoredRecord {
    /// Returns the status.
    pub fn status(&self) -> StoredStatus {
        self.0.summary.status
    }

    /// Returns the number of the attempt that wrote it, from 1.
    pub fn attempt(&self) -> i64 {
        self.0.summary.attempt
    }

    /// Returns everything that is stored.
    pub fn detail(&self) -> &RecordDetail {
        &self.0
    }

    /// Returns the recorded result.
    ///
    /// # Panics
    /// Panics if the record has no result, or one of another type.
    #[track_caller]
    pub fn result<T: DeserializeOwned>(&self) -> T {
        let Some(result) = &self.0.result else {
            panic!("the record has no result: {:?}", self.status())
        };
        match serde_json::from_slice(result) {
            Ok(result) => result,
            Err(error) => panic!("the recorded result is of another type: {error}"),
        }
    }

    /// Returns the recorded failure.
    ///
    /// # Panics
    /// Panics if the record has no failure.
    #[track_caller]
    pub fn failure(&self) -> StoredFailure {
        let failure = self.0.failure.as_deref().map(serde_json::from_slice);
        match failure {
            Some(Ok(failure)) => failure,
            Some(Err(error)) => panic!("the recorded failure cannot be read: {error}"),
            None => panic!("the record has no failure: {:?}", self.status()),
        }
    }
}
