//! What has become of a key, for whoever asks later.

use std::time::Duration;

use idem_runtime::policy::{Lease, MAX_RETRY_AFTER, OnLapse};
use idem_runtime::record::Status;
use idem_runtime::status::{KeyStatus, State, look_up, look_up_with_result};
use idem_runtime::store::{Outcome, RawStore, StoreLease};
use idem_runtime::{Error, IdempotencyKey, Namespace, Scope, StoredFailure};
use serde_json::{Value, json};

use crate::database::{LeaseDatabase, mails};
use crate::desk::fresh_key;

const SEND: &str = "send";

async fn status<D: LeaseDatabase>(database: &D, key: &IdempotencyKey) -> KeyStatus<Value> {
    let status = look_up(&database.pool(), &mails(), key).await;
    let status = status.expect("it can be looked up");
    // No payload, whatever there is.
    assert!(status.result.is_none() && status.failure.is_none());
    assert_eq!(status.retry_after.is_some(), status.state == State::Running);
    status
}

async fn state<D: LeaseDatabase>(database: &D, key: &IdempotencyKey) -> State {
    status(database, key).await.state
}

async fn with_result<D: LeaseDatabase>(database: &D, key: &IdempotencyKey) -> KeyStatus<Value> {
    let status = look_up_with_result(&database.pool(), &mails(), key).await;
    status.expect("it can be looked up")
}

async fn lease<D: LeaseDatabase>(
    database: &D,
    key: &IdempotencyKey,
    on_lapse: OnLapse,
) -> StoreLease {
    let lease = Lease::new(Duration::from_mins(5), on_lapse).expect("within bounds");
    let (store, mut conn) = (
        mails(),
        database.pool().acquire().await.expect("a connection"),
    );
    let mut bound = store.in_connection(&mut *conn);
    match bound.begin_leased(key, SEND, &json!(1), lease).await {
        Ok(Outcome::Fresh(lease)) => lease,
        other => panic!("no lease: {other:?}"),
    }
}

pub(crate) async fn an_atomic_call_is_running_until_it_commits_and_then_done<D: LeaseDatabase>() {
    let database = D::open().await;
    let (store, pool, key) = (mails(), database.pool(), fresh_key());
    assert_eq!(state(&database, &key).await, State::NotKnown);
    for commits in [false, true] {
        let mut tx = pool.begin().await.expect("a transaction");
        let mut bound = store.in_transaction(&mut *tx).expect("a transaction");
        let claim = match bound.begin(&key, SEND, &json!(1)).await {
            Ok(Outcome::Fresh(claim)) => claim,
            other => panic!("not fresh: {other:?}"),
        };
        assert_eq!(state(&database, &key).await, State::Running);
        assert_eq!(with_result(&database, &key).await.state, State::Running);
        if commits {
            bound.commit(claim, &json!("sent")).await.expect("recorded");
            tx.commit().await.expect("committed");
        } else {
            drop(claim);
            tx.rollback().await.expect("rolled back");
            assert_eq!(state(&database, &key).await, State::NotKnown);
        }
    }
    let done = status(&database, &key).await;
    assert_eq!(
        (done.state, done.operation.as_deref()),
        (State::Done, Some(SEND))
    );
    let done = with_result(&database, &key).await;
    assert_eq!(
        (done.state, done.result),
        (State::Done, Some(json!("sent")))
    );
    assert!(done.failure.is_none());
}

pub(crate) async fn a_lease_is_running_and_its_end_is_told<D: LeaseDatabase>() {
    let database = D::open().await;
    let (store, pool) = (mails(), database.pool());
    for end in [State::Done, State::Failed, State::NotKnown] {
        let key = fresh_key();
        let held = lease(&database, &key, OnLapse::Unknown).await;
        let running = status(&database, &key).await;
        assert_eq!(running.state, State::Running);
        let again = running.retry_after.expect("it runs");
        assert!(!again.is_zero() && again <= MAX_RETRY_AFTER);
        let mut conn = pool.acquire().await.expect("a connection");
        let mut bound = store.in_connection(&mut *conn);
        match end {
            State::Done => {
                bound
                    .complete(&held, &json!("sent"))
                    .await
                    .expect("recorded");
            }
            State::Failed => {
                let failure = StoredFailure::new("Bounced", "no such box");
                bound.fail(&held, &failure).await.expect("recorded");
            }
            _ => bound.release_lease(&held).await.expect("released"),
        }
        drop(conn);
        assert_eq!(state(&database, &key).await, end);
        let shown = with_result(&database, &key).await;
        assert_eq!(shown.result.is_some(), end == State::Done);
        let class = shown.failure.map(|failure| failure.class);
        assert_eq!(
            class.as_deref(),
            (end == State::Failed).then_some("Bounced")
        );
        if end == State::NotKnown {
            // Whoever takes the released key runs.
            let _held = lease(&database, &key, OnLapse::Unknown).await;
            assert_eq!(state(&database, &key).await, State::Running);
        }
    }
}

pub(crate) async fn a_lapsed_lease_is_unknown_and_the_look_changes_nothing<D: LeaseDatabase>() {
    for on_lapse in [OnLapse::Unknown, OnLapse::Retry] {
        let (database, key) = (D::open().await, fresh_key());
        let _held = lease(&database, &key, on_lapse).await;
        database.lapse().await;
        for _ in 0..2 {
            assert_eq!(state(&database, &key).await, State::Unknown);
            assert_eq!(with_result(&database, &key).await.state, State::Unknown);
            assert_eq!(database.status(&key).await, Some(Status::InProgress));
        }
        let mut conn = database.pool().acquire().await.expect("a connection");
        let store = mails();
        let mut bound = store.in_connection(&mut *conn);
        bound.lapse_overdue(SEND, 1).await.expect("it has lapsed");
        drop(conn);
        let (recorded, expected) = match on_lapse {
            OnLapse::Unknown => (Status::Unknown, State::Unknown),
            OnLapse::Retry => (Status::Released, State::NotKnown),
        };
        assert_eq!(database.status(&key).await, Some(recorded));
        assert_eq!(state(&database, &key).await, expected);
    }
}

pub(crate) async fn a_key_is_known_in_its_own_scope_and_namespace<D: LeaseDatabase>() {
    let (database, key) = (D::open().await, fresh_key());
    let held = lease(&database, &key, OnLapse::Unknown).await;
    let text: IdempotencyKey = key.as_str().parse().expect("a key");
    let other = text.clone().scoped(Scope::new("another").expect("a scope"));
    assert_eq!(state(&database, &other).await, State::NotKnown);
    let pool = database.pool();
    let letters = RawStore::new(Namespace::from_static("letters"));
    let found = look_up(&pool, &letters, &key).await.expect("looked up");
    assert_eq!(found.state, State::NotKnown);
    let refused = look_up(&pool, &mails(), &text).await;
    assert!(
        matches!(refused, Err(Error::ScopeMissing { .. })),
        "{refused:?}"
    );
    pool.close().await;
    let refused = look_up(&pool, &mails(), &key).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    drop(held);
}
