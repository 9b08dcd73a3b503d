//! A slow owner, heartbeats, and the signals to the body.

use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::record::Status;
use idem_runtime::{Error, LeasedOperation, Operation};
use tokio::sync::oneshot;

use crate::database::{LeaseDatabase, mails};
use crate::desk::{Desk, MailError, Sent, Then, ada, fresh_key, send_again, send_once};

type Call = tokio::task::JoinHandle<Result<idem_runtime::Replayable<Sent>, MailError>>;

pub(crate) async fn a_slow_owner_is_told_and_records_nothing_over_the_next_owner<
    H: LeaseDatabase,
>() {
    let (database, key) = (H::open().await, fresh_key());
    let desk = Desk::new(&[Then::Wait, Then::Succeed]);
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let slow: Call = tokio::spawn(async move { send_again(&pool, &by, ada(), there).await });
    let attempt = desk.reached().await;
    assert!(!attempt.is_lost() && attempt.lease_left() > Duration::from_mins(4));
    database.lapse().await;
    let next = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    assert_eq!(next.expect("taken over").number, 2);
    let heartbeat = attempt.heartbeat().await;
    assert!(matches!(heartbeat, Err(Error::LeaseLost)), "{heartbeat:?}");
    attempt.lost().await;
    assert!(attempt.is_lost() && attempt.lease_left().is_zero());
    // And again, after the heartbeats have stopped.
    let heartbeat = attempt.heartbeat().await;
    assert!(matches!(heartbeat, Err(Error::LeaseLost)), "{heartbeat:?}");
    desk.open();
    let late = slow.await.expect("no panic").expect_err("it is late");
    assert!(matches!(late.refusal(), Error::LeaseLost));
    let record = database.record(&key).await.expect("there is one");
    assert_eq!((record.status, record.attempt), (Status::Completed, 2));
    assert_ne!(record.attempt_id, attempt.id());
}

pub(crate) async fn a_late_owner_settles_an_unknown_outcome_itself<H: LeaseDatabase>() {
    let (database, key) = (H::open().await, fresh_key());
    let desk = Desk::new(&[Then::Wait]);
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let slow: Call = tokio::spawn(async move { send_once(&pool, by, ada(), there).await });
    let attempt = desk.reached().await;
    database.lapse().await;
    let reported = send_once(&database.pool(), key.clone(), ada(), desk.clone()).await;
    let refusal = reported.expect_err("nobody knows").refusal();
    let Error::OutcomeUnknown { attempt_id, .. } = refusal else {
        panic!("{refusal:?}");
    };
    assert_eq!(attempt_id, attempt.id().as_uuid());
    desk.open();
    let sent = slow.await.expect("no panic").expect("it knows");
    assert!(!sent.replayed());
    let again = send_once(&database.pool(), key, ada(), desk.clone()).await;
    assert!(again.expect("replayed").replayed());
    assert_eq!(desk.count(), 1);
}

pub(crate) async fn after_reconciliation_a_late_owner_has_lost_and_the_settled_result_stands<
    H: LeaseDatabase,
>() {
    let (database, key) = (H::open().await, fresh_key());
    let desk = Desk::new(&[Then::Wait]);
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let slow: Call = tokio::spawn(async move { send_once(&pool, by, ada(), there).await });
    let attempt = desk.reached().await;
    database.lapse().await;
    let reported = send_once(&database.pool(), key.clone(), ada(), desk.clone()).await;
    assert!(reported.is_err());
    let settled = Sent {
        number: 7,
        odd: std::collections::BTreeMap::new(),
    };
    let store = mails().typed::<serde_json::Value, Sent>();
    {
        let mut conn = database.pool().acquire().await.expect("a connection");
        let mut bound = store.in_connection(&mut *conn);
        let unknown = bound.look_up(&key).await.expect("read").expect("unknown");
        assert_eq!(unknown.external_key(), attempt.external_key());
        let request: serde_json::Value = unknown.decode_request().expect("JSON").expect("kept");
        assert_eq!(request, serde_json::json!({ "to": ada() }));
        bound
            .resolve_completed(&unknown, &settled)
            .await
            .expect("settled");
    }
    desk.open();
    let late = slow.await.expect("no panic").expect_err("it is late");
    assert!(matches!(late.refusal(), Error::LeaseLost));
    let again = send_once(&database.pool(), key, ada(), desk.clone()).await;
    assert_eq!(*again.expect("replayed"), settled);
    assert_eq!(desk.count(), 1);
}

pub(crate) async fn a_heartbeat_asked_for_is_given_at_once<H: LeaseDatabase>() {
    let (database, key) = (H::open().await, fresh_key());
    let desk = Desk::new(&[Then::Wait]);
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let run: Call = tokio::spawn(async move { send_again(&pool, &by, ada(), there).await });
    let attempt = desk.reached().await;
    database.end_leases_in(1_000_000).await;
    let ending = database
        .record(&key)
        .await
        .expect("there is one")
        .locked_until;
    attempt.heartbeat().await.expect("it is ours");
    let extended = database
        .record(&key)
        .await
        .expect("there is one")
        .locked_until;
    let grown = extended.expect("a lease").since(ending.expect("a lease"));
    assert!(grown > Duration::from_mins(4), "{grown:?}");
    desk.open();
    assert!(run.await.expect("no panic").is_ok());
}

pub(crate) async fn heartbeats_are_given_by_themselves_while_the_body_runs<H: LeaseDatabase>() {
    const BRIEF: LeasedOperation =
        Operation::new("mail", "brief").lease(Duration::from_secs(12), OnLapse::Unknown);
    let (database, key, desk) = (H::open().await, fresh_key(), Desk::new(&[Then::Wait]));
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let run: Call = tokio::spawn(async move {
        BRIEF
            .run(&pool, &by, &1, move |attempt| async move {
                there.deliver(&attempt).await
            })
            .await
    });
    let attempt = desk.reached().await;
    let mut ends = std::collections::BTreeSet::new();
    // Longer than the lease: without heartbeats it would have lapsed.
    while ends.len() < 5 {
        let record = database.record(&key).await.expect("there is one");
        assert_eq!(record.attempt_id, attempt.id());
        assert!(!attempt.is_lost(), "after {} ends", ends.len());
        ends.insert(record.locked_until);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!attempt.is_lost());
    desk.open();
    assert!(run.await.expect("no panic").is_ok());
    let done = database.record(&key).await.expect("there is one");
    assert_eq!((done.status, done.attempt), (Status::Completed, 1));
}

pub(crate) async fn tasks_of_a_body_that_has_ended_or_panicked_learn_that_its_lease_is_over<
    H: LeaseDatabase,
>() {
    const NOTE: LeasedOperation =
        Operation::new("mail", "note").lease(Duration::from_mins(5), OnLapse::Retry);
    let database = H::open().await;
    for panics in [false, true] {
        let (begun, task) = oneshot::channel();
        let (pool, key) = (database.pool(), fresh_key());
        let body = async move |attempt: idem_runtime::Attempt| {
            let theirs = attempt.clone();
            let task = tokio::spawn(async move {
                theirs.lost().await;
                theirs.lease_left()
            });
            begun.send(task).expect("the test waits");
            assert!(!panics && !attempt.is_lost(), "as it is told to");
            Ok::<_, Error>(1)
        };
        let run = tokio::spawn(async move { NOTE.run(&pool, &key, &1, body).await });
        let task = task.await.expect("the body begins");
        assert_eq!(run.await.is_err(), panics);
        // The timeout only bounds a hang.
        let left = tokio::time::timeout(Duration::from_mins(1), task).await;
        let left = left.expect("it is told").expect("no panic");
        assert!(left.is_zero(), "{left:?}");
    }
}
