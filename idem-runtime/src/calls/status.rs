//! What has become of a key, for whoever asks later: an operator's page, or a client that was answered 202.
//!
//! [`look_up`] reads the key's record and asks whether an attempt holds the key. It runs nothing, writes nothing and
//! waits for no lock.
//!
//! | the key | [`State`] |
//! |---|---|
//! | has no record, and no attempt holds it; or was released, so that the next call runs the body | not known |
//! | is held by an attempt: its transaction is open, or its lease has not ended | running |
//! | has a recorded result | done |
//! | has a recorded failure | failed |
//! | has an unknown outcome, or a lease that lapsed | unknown |
//!
//! The store must have the operation's codec ([`Store::codec`](crate::store::Store::codec)) if that hashes the names: under the
//! clear key there is nothing to find.
//!
//! After a lapse the next call of the handler decides, under `on_lapse`: it runs the body, or finds the outcome unknown.
//! A record past its retention is shown until a purge deletes it or a call replaces it. On SQLite only what
//! runs in this process is seen: the key of an atomic call in another process, or of one whose caller has yet to commit, is not known
//! until then.

use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;
use sqlx::Pool;

use super::kit::look::look_for_status;
use crate::decision::{Lookup, Opener, Phase, in_flight_for};
use crate::stores::{Backend, Store};
use crate::values::error::Error;
use crate::values::failure::StoredFailure;
use crate::values::key::IdempotencyKey;
use crate::values::record::{Record, Status};

/// What has become of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// Nothing is recorded and nothing runs: a request with this key runs the body.
    NotKnown,
    /// An attempt runs.
    Running,
    /// The body succeeded: a retry gets its result.
    Done,
    /// The body failed for good: a retry gets its failure.
    Failed,
    /// An attempt was interrupted, and it is not known whether its effect happened.
    Unknown,
}

/// The state of a key, and what it was looked up with.
///
/// `Debug` prints neither result nor failure.
#[derive(Clone)]
#[non_exhaustive]
pub struct KeyStatus<Res> {
    /// The state.
    pub state: State,
    /// While an attempt runs: when to ask again.
    pub retry_after: Option<Duration>,
    /// The operation that has the key, if there is a record.
    pub operation: Option<String>,
    /// The recorded result, if it was looked up.
    pub result: Option<Res>,
    /// The recorded failure, if it was looked up.
    pub failure: Option<StoredFailure>,
}

impl<Res> fmt::Debug for KeyStatus<Res> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyStatus")
            .field("state", &self.state)
            .field("retry_after", &self.retry_after)
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

/// Returns the state of a key in the store's namespace and table, and no payload.
///
/// Who may ask is yours to decide, before the call: the key's scope says whose record is read.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # async fn example(pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
/// use idem_runtime::status::{self, State};
/// use idem_runtime::store::RawStore;
/// use idem_runtime::{IdempotencyKey, Namespace, Scope};
///
/// let orders = RawStore::new(Namespace::from_static("orders"));
/// let key = "8e03978e".parse::<IdempotencyKey>()?.scoped(Scope::new("acme")?);
/// let found = status::look_up(&pool, &orders, &key).await?;
/// if found.state == State::Running {
///     println!("ask again in {:?}", found.retry_after);
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::ScopeMissing`] for a key without a scope; [`Error::UnknownState`] for a record of a newer build; and the
/// database's.
pub async fn look_up<DB: Backend, Req, Res>(
    pool: &Pool<DB>,
    store: &Store<Req, Res>,
    key: &IdempotencyKey,
) -> Result<KeyStatus<Res>, Error> {
    let mut request = store.look_request(key)?.0;
    request.pool_traits = DB::pool_traits(pool)?;
    Ok(KeyStatus::of(&look_for_status(pool, &request).await?))
}

/// Returns the state of a key, with the recorded result or failure.
///
/// The handler's `authorize` is not asked: ask whoever decides who may see a result before the call.
///
/// # Errors
/// Those of [`look_up`]; [`Error::IncompatibleState`] for a recorded result that is no `Res`; [`Error::Codec`] if the
/// store's codec does not open it.
pub async fn look_up_with_result<DB: Backend, Req, Res: DeserializeOwned>(
    pool: &Pool<DB>,
    store: &Store<Req, Res>,
    key: &IdempotencyKey,
) -> Result<KeyStatus<Res>, Error> {
    let (mut request, call_codec) = store.look_request(key)?;
    request.pool_traits = DB::pool_traits(pool)?;
    let lookup = look_for_status(pool, &request).await?;
    let mut status = KeyStatus::of(&lookup);
    let opener = Opener::of(call_codec.protection(), &request.identity);
    let answer_of = |record: Record| match opener {
        Some(opener) => opener.open_answer(record),
        None => Ok(record),
    };
    match (status.state, lookup.record) {
        (State::Done, Some(record)) => {
            status.result = Some(store.decode_result(&answer_of(record)?)?);
        }
        (State::Failed, Some(record)) => {
            status.failure = Some(store.decode_failure(&answer_of(record)?)?);
        }
        _ => {}
    }
    Ok(status)
}

impl<Res> KeyStatus<Res> {
    fn of(lookup: &Lookup) -> Self {
        let record = lookup.record.as_ref();
        let state = match (Phase::of(lookup), record.map(|record| record.status)) {
            (Phase::InFlight, _) => State::Running,
            (Phase::Lapsed, _) | (Phase::Free, Some(Status::Unknown | Status::InProgress)) => {
                State::Unknown
            }
            (Phase::Free, None | Some(Status::Released)) => State::NotKnown,
            (Phase::Free, Some(Status::Completed)) => State::Done,
            (Phase::Free, Some(Status::Failed)) => State::Failed,
        };
        // A record that an attempt replaces has no lease of its own.
        let retry_after = (state == State::Running).then(|| in_flight_for(record, lookup.now));
        Self {
            state,
            retry_after,
            operation: record.map(|record| record.operation.clone()),
            result: None,
            failure: None,
        }
    }
}
