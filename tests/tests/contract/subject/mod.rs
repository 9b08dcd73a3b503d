//! The operations that the laws need of a database, beside the store itself.

mod lease;
mod mysql;
mod postgres;
mod sqlite;

use std::fmt::Debug;
use std::time::Duration;

use idem_runtime::record::Timestamp;
use idem_runtime::store::{Outcome, RawStore, Session, Store, StoreClaim};
use idem_runtime::{IdempotencyKey, Namespace};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use self::lease::{LEASE, LeaseSubject, ask_lease, lease, lease_under, read};
pub(crate) use self::mysql::MySql;
pub(crate) use self::postgres::{PgBouncer, Postgres, Postgres18};
pub(crate) use self::sqlite::{SqliteRollback, SqliteWal};

/// A fresh database with the default table.
pub(crate) trait Subject: Sized {
    type Conn: Session;
    /// Further tables that [`fresh`](Self::fresh) has created. One of them is named with its
    /// schema; where one transaction can span several schemas, it is in another schema.
    const OTHER_TABLES: &'static [&'static str];

    async fn fresh() -> Self;
    async fn connect(&self) -> Self::Conn;
    async fn begin(conn: &mut Self::Conn);
    async fn commit(conn: &mut Self::Conn);
    async fn rollback(conn: &mut Self::Conn);

    /// Returns the time of the database's clock.
    async fn now(&self) -> Timestamp;
    /// Returns the number of records in the default table.
    async fn count(&self) -> usize;
    /// Moves the times of every record into the past.
    async fn age(&self, by: Duration);
    /// Returns whether the view for operators shows a request, and whether it reports that the
    /// request was too large to store.
    async fn view(&self) -> (bool, bool);
    /// Changes the record of one key, with all checks disabled.
    async fn edit(&self, key: &str, edit: Edit<'_>);
    /// Writes what a competing attempt would write if no lock prevented it: in the transaction of
    /// `conn`, a record of `key` by another attempt that expires in an hour. It replaces the
    /// existing record, or copies that of `like`.
    async fn competitor(&self, conn: &mut Self::Conn, like: &str, key: &str);
}

/// A change to a record that no attempt could make.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Edit<'a> {
    Status(i16),
    Codec(i16),
    FingerprintVersion(i16),
    Result(&'a [u8]),
    Request(&'a [u8]),
    /// Status 3 or 4, with a lease of this length from now on.
    Lease(i16, Duration),
}

pub(crate) const PAY: &str = "pay";
pub(crate) const RETENTION: Duration = Duration::from_hours(24);

/// Returns the store of most laws: namespace `payments`, default table, 24 hours.
pub(crate) fn store() -> RawStore {
    typed()
}

pub(crate) fn typed<Req, Res>() -> Store<Req, Res> {
    Store::new(Namespace::from_static("payments"))
}

pub(crate) fn key(text: &str) -> IdempotencyKey {
    text.parse::<IdempotencyKey>()
        .expect("an acceptable key")
        .global()
}

/// Claims `key` in the open transaction and asserts that it is the first.
pub(crate) async fn claim<S: Session, Req, Res>(
    store: &Store<Req, Res>,
    conn: &mut S,
    key: &IdempotencyKey,
    request: &Req,
) -> StoreClaim<S>
where
    Req: Serialize + DeserializeOwned + Debug,
    Res: DeserializeOwned + Debug,
{
    let mut bound = store.in_transaction(conn).expect("an open transaction");
    match bound.begin(key, PAY, request).await {
        Ok(Outcome::Fresh(claim)) => claim,
        other => panic!("not fresh: {other:?}"),
    }
}

/// Looks `key` up outside any transaction.
pub(crate) async fn begin_run<S: Session>(
    store: &RawStore,
    conn: &mut S,
    key: &IdempotencyKey,
    request: &Value,
) -> Outcome<StoreClaim<S>, Value, Value> {
    let mut bound = store.in_connection(conn);
    bound
        .begin(key, PAY, request)
        .await
        .expect("an answer without a transaction")
}

/// Runs a complete first attempt that succeeds.
pub(crate) async fn record<S: Subject, Req, Res>(
    store: &Store<Req, Res>,
    conn: &mut S::Conn,
    key: &IdempotencyKey,
    request: &Req,
    result: &Res,
) where
    Req: Serialize + DeserializeOwned + Debug,
    Res: Serialize + DeserializeOwned + Debug,
{
    S::begin(conn).await;
    let claim = claim(store, conn, key, request).await;
    let mut bound = store.in_transaction(conn).expect("an open transaction");
    bound.commit(claim, result).await.expect("recorded");
    S::commit(conn).await;
}

/// Asserts that `key` replays `result`.
pub(crate) async fn expect_replay<S: Session>(
    store: &RawStore,
    conn: &mut S,
    key: &IdempotencyKey,
    request: &Value,
    result: &Value,
) {
    match begin_run(store, conn, key, request).await {
        Outcome::PriorResult { value } => assert_eq!(value, *result),
        other => panic!("no replay: {other:?}"),
    }
}
