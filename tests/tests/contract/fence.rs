//! The fence: every status and every write, on every store.

use idem_runtime::policy::OnLapse;
use idem_runtime::record::{Record, Status};
use idem_runtime::store::{Bound, LeaseSession, StoreLease};
use idem_runtime::{Error, StoredFailure};
use serde_json::{Value, json};

use crate::subject::{LeaseSubject, lease, read, store};

/// The writes of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Extend,
    Complete,
    Fail,
    Release,
    LeaveUnknown,
}

const ACTS: [Act; 5] = [
    Act::Extend,
    Act::Complete,
    Act::Fail,
    Act::Release,
    Act::LeaveUnknown,
];

const STATUSES: [Status; 5] = [
    Status::Completed,
    Status::Failed,
    Status::InProgress,
    Status::Unknown,
    Status::Released,
];

/// Returns whether an owner's write changes a record in this status.
fn changes(act: Act, from: Status) -> bool {
    match act {
        Act::Extend | Act::Release | Act::LeaveUnknown => from == Status::InProgress,
        Act::Complete | Act::Fail => matches!(from, Status::InProgress | Status::Unknown),
    }
}

/// Returns the status after the write.
fn makes(act: Act) -> Status {
    match act {
        Act::Extend => Status::InProgress,
        Act::Complete => Status::Completed,
        Act::Fail => Status::Failed,
        Act::Release => Status::Released,
        Act::LeaveUnknown => Status::Unknown,
    }
}

async fn act<C: LeaseSession>(
    bound: &mut Bound<'_, C, Value, Value>,
    lease: &StoreLease,
    act: Act,
    result: &Value,
) -> Result<(), Error> {
    match act {
        Act::Extend => bound.extend(lease).await,
        Act::Complete => bound.complete(lease, result).await.map(drop),
        Act::Fail => {
            let failure = StoredFailure::new("Declined", result.to_string());
            bound.fail(lease, &failure).await
        }
        Act::Release => bound.release_lease(lease).await,
        Act::LeaveUnknown => bound.leave_unknown(lease).await,
    }
}

/// Brings the record into a status by a write of its owner.
async fn bring<C: LeaseSession>(
    bound: &mut Bound<'_, C, Value, Value>,
    owner: &StoreLease,
    to: Status,
) {
    let by = ACTS.into_iter().find(|act| makes(*act) == to).expect("one");
    act(bound, owner, by, &json!("owner"))
        .await
        .expect("it owns the record");
}

/// Returns the columns that a write could have changed.
fn face(record: &Record) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        record.status,
        record.attempt_id,
        record.attempt,
        record.locked_until,
        record.result.clone(),
        record.failure.clone(),
    )
}

pub(crate) async fn an_owner_writes_only_over_its_own_attempt_and_only_from_where_it_may<
    S: LeaseSubject,
>() {
    let store = store();
    for from in STATUSES {
        for by in ACTS {
            let subject = S::fresh().await;
            let mut conn = subject.connect().await;
            let owner = lease(&mut conn, OnLapse::Retry).await;
            let mut bound = store.in_connection(&mut conn);
            bring(&mut bound, &owner, from).await;
            let before = read(&mut conn).await;
            let mut bound = store.in_connection(&mut conn);
            let done = act(&mut bound, &owner, by, &json!("late")).await;
            let after = read(&mut conn).await;
            if changes(by, from) {
                done.unwrap_or_else(|error| panic!("{by:?} from {from:?}: {error}"));
                assert_eq!(after.status, makes(by), "{by:?} from {from:?}");
            } else {
                // Repeating the same write, as after a lost answer, succeeds; another payload is
                // refused.
                let repeated = makes(by) == from && !matches!(by, Act::Complete | Act::Fail);
                let lost = matches!(done, Err(Error::LeaseLost));
                assert!(
                    if repeated { done.is_ok() } else { lost },
                    "{by:?} from {from:?}: {done:?}"
                );
                assert_eq!(face(&after), face(&before), "{by:?} from {from:?}");
            }
        }
    }
}

pub(crate) async fn a_slow_owner_writes_nothing_over_the_next_owners_record<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    for to in STATUSES {
        let slow = lease(&mut conn, OnLapse::Retry).await;
        subject.lapse().await;
        let next = lease(&mut conn, OnLapse::Retry).await;
        let mut bound = store.in_connection(&mut conn);
        bring(&mut bound, &next, to).await;
        let before = read(&mut conn).await;
        for by in ACTS {
            let mut bound = store.in_connection(&mut conn);
            let done = act(&mut bound, &slow, by, &json!("late")).await;
            assert!(
                matches!(done, Err(Error::LeaseLost)),
                "{by:?} over {to:?}: {done:?}"
            );
            let after = read(&mut conn).await;
            assert_eq!(face(&after), face(&before), "{by:?} over {to:?}");
        }
        // A new round, as if the key had never been used.
        subject.clear().await;
    }
}

pub(crate) async fn an_owner_may_complete_after_its_lease_lapsed_if_nobody_took_it<
    S: LeaseSubject,
>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let owner = lease(&mut conn, OnLapse::Retry).await;
    subject.end_leases_in(-60_000_000).await;
    let mut bound = store.in_connection(&mut conn);
    bound.complete(&owner, &json!("late")).await.unwrap();
    let found = read(&mut conn).await;
    assert_eq!(found.result.as_deref(), Some(br#""late""#.as_slice()));
}

pub(crate) async fn an_end_may_be_repeated_as_it_was_and_no_other_end_counts_as_done<
    S: LeaseSubject,
>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let failure = |message: &str| StoredFailure::new("Declined", message);
    let owner = lease(&mut conn, OnLapse::Retry).await;
    let mut bound = store.in_connection(&mut conn);
    for _ in 0..2 {
        bound.complete(&owner, &json!("first")).await.unwrap();
    }
    for other in [
        bound.complete(&owner, &json!("second")).await.map(drop),
        bound.fail(&owner, &failure("no")).await,
        bound.release_lease(&owner).await,
    ] {
        assert!(matches!(other, Err(Error::LeaseLost)), "{other:?}");
    }
    let found = read(&mut conn).await;
    assert_eq!(found.result.as_deref(), Some(br#""first""#.as_slice()));
    subject.clear().await;
    let owner = lease(&mut conn, OnLapse::Retry).await;
    let mut bound = store.in_connection(&mut conn);
    for _ in 0..2 {
        bound.fail(&owner, &failure("no")).await.unwrap();
    }
    let other = bound.fail(&owner, &failure("never")).await;
    assert!(matches!(other, Err(Error::LeaseLost)), "{other:?}");
    let found = read(&mut conn).await;
    let kept: StoredFailure = serde_json::from_slice(&found.failure.expect("it failed")).unwrap();
    assert_eq!(kept, failure("no"));
}

pub(crate) async fn a_write_for_a_record_that_is_gone_is_a_lost_lease<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let owner = lease(&mut conn, OnLapse::Retry).await;
    subject.clear().await;
    for by in ACTS {
        let mut bound = store.in_connection(&mut conn);
        let done = act(&mut bound, &owner, by, &json!(1)).await;
        assert!(matches!(done, Err(Error::LeaseLost)), "{by:?}: {done:?}");
    }
    assert_eq!(subject.count().await, 0);
}
