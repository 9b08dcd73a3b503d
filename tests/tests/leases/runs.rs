//! Calls one after another: the record of each, and the answer to the next.

use idem_runtime::policy::RecordFailures;
use idem_runtime::policy::{MAX_RETRY_AFTER, OnLapse};
use idem_runtime::record::Status;
use idem_runtime::{Error, ErrorKind, LeasedOperation, Operation, ReplayExt as _};
use serde::Deserialize;
use std::time::Duration;
use tokio::task::JoinSet;

use crate::database::LeaseDatabase;
use crate::desk::{Desk, MailError, Then, ada, fresh_key, send_again, send_once, send_waiting};

pub(crate) async fn a_leased_call_has_its_effect_once_and_replays<H: LeaseDatabase>() {
    let (database, desk, key) = (H::open().await, Desk::new(&[]), fresh_key());
    let pool = database.pool();
    let sent = send_once(&pool, key.clone(), ada(), desk.clone()).await;
    let sent = sent.expect("sent");
    assert!(!sent.replayed());
    assert_eq!(sent.number, 1);
    for _ in 0..3 {
        let again = send_once(&pool, key.clone(), ada(), desk.clone()).await;
        let again = again.expect("replayed");
        assert!(again.replayed());
        assert_eq!(*again, *sent);
    }
    assert_eq!(desk.count(), 1);
    let other = send_once(&pool, key, "grace@example.org".to_owned(), desk.clone()).await;
    let refusal = other.expect_err("another request").refusal();
    assert_eq!(refusal.kind(), ErrorKind::Mismatch);
    assert_eq!(desk.count(), 1);
}

pub(crate) async fn a_dropped_caller_does_not_stop_the_run<H: LeaseDatabase>() {
    let (database, desk, key) = (H::open().await, Desk::new(&[Then::Wait]), fresh_key());
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let caller = tokio::spawn(async move { send_once(&pool, by, ada(), there).await });
    desk.reached().await;
    caller.abort();
    assert!(caller.await.expect_err("it is gone").is_cancelled());
    desk.open();
    // Waits for the run whose caller was dropped.
    let again = send_waiting(&database.pool(), Some(&key), ada(), desk.clone()).await;
    assert!(again.expect("replayed").replayed());
    assert_eq!(desk.count(), 1);
}

pub(crate) async fn a_duplicate_of_a_leased_run_is_in_flight_and_a_waiter_replays<
    H: LeaseDatabase,
>() {
    let (database, desk, key) = (H::open().await, Desk::new(&[Then::Wait]), fresh_key());
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let first = tokio::spawn(async move { send_again(&pool, &by, ada(), there).await });
    desk.reached().await;
    let refused = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    let refusal = refused.expect_err("it runs").refusal();
    let left = refusal.retry_after().expect("it says when");
    assert!(!left.is_zero() && left <= MAX_RETRY_AFTER, "{left:?}");
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let waiter = tokio::spawn(async move { send_waiting(&pool, Some(&by), ada(), there).await });
    desk.open();
    assert!(!first.await.expect("no panic").expect("sent").replayed());
    let replayed = waiter.await.expect("no panic").expect("replayed");
    assert!(replayed.replayed());
    assert_eq!(desk.count(), 1);
}

pub(crate) async fn of_many_leased_calls_at_once_one_has_the_effect<H: LeaseDatabase>() {
    let (database, desk, key) = (H::open().await, Desk::new(&[]), fresh_key());
    let mut calls = JoinSet::new();
    for _ in 0..24 {
        let (pool, desk, key) = (database.pool(), desk.clone(), key.clone());
        calls.spawn(async move { send_waiting(&pool, Some(&key), ada(), desk).await });
    }
    let mut first = 0;
    while let Some(call) = calls.join_next().await {
        let sent = call.expect("no panic").expect("sent or replayed");
        first += usize::from(!sent.replayed());
    }
    assert_eq!((first, desk.count()), (1, 1));
}

pub(crate) async fn a_transient_failure_releases_the_key_and_the_next_attempt_counts_on<
    H: LeaseDatabase,
>() {
    let script = [Then::Fail, Then::Fail];
    let (database, desk, key) = (H::open().await, Desk::new(&script), fresh_key());
    for _ in script {
        let failed = send_once(&database.pool(), key.clone(), ada(), desk.clone()).await;
        assert!(matches!(failed, Err(MailError::OutOfReach)), "{failed:?}");
        assert_eq!(database.status(&key).await, Some(Status::Released));
    }
    let sent = send_once(&database.pool(), key.clone(), ada(), desk.clone()).await;
    assert_eq!(sent.expect("sent").number, 3);
    let mails = desk.mails();
    assert_eq!(mails.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(mails.iter().all(|(_, key)| *key == mails[0].1));
}

pub(crate) async fn a_released_key_runs_no_other_request_and_no_other_operation<
    H: LeaseDatabase,
>() {
    const REFUND: LeasedOperation =
        Operation::new("mail", "refund").lease(Duration::from_mins(5), OnLapse::Retry);
    let (database, desk, key) = (H::open().await, Desk::new(&[Then::Fail]), fresh_key());
    let pool = database.pool();
    let failed = send_again(&pool, &key, ada(), desk.clone()).await;
    assert!(matches!(failed, Err(MailError::OutOfReach)), "{failed:?}");
    let other = send_again(&pool, &key, "grace@example.org".to_owned(), desk.clone()).await;
    let refusal = other.expect_err("another request").refusal();
    assert_eq!(refusal.kind(), ErrorKind::Mismatch);
    let there = desk.clone();
    let other = REFUND
        .run(&pool, &key, &ada(), move |attempt| async move {
            there.deliver(&attempt).await
        })
        .await;
    let refusal = other.expect_err("another operation").refusal();
    assert_eq!(refusal.kind(), ErrorKind::Mismatch);
    assert_eq!(desk.count(), 1);
    let sent = send_again(&pool, &key, ada(), desk.clone()).await;
    assert_eq!(sent.expect("sent").number, 2);
}

pub(crate) async fn a_permanent_failure_of_a_leased_run_is_replayed<H: LeaseDatabase>() {
    let (database, desk, key) = (H::open().await, Desk::new(&[Then::Bounce]), fresh_key());
    for _ in 0..2 {
        let bounced = send_once(&database.pool(), key.clone(), ada(), desk.clone()).await;
        assert!(
            matches!(bounced, Err(MailError::Bounced { code: 550 })),
            "{bounced:?}"
        );
    }
    assert_eq!(desk.count(), 1);
    assert_eq!(database.status(&key).await, Some(Status::Failed));
}

pub(crate) async fn a_replayed_failure_of_a_leased_run_is_told_from_a_first_one<
    H: LeaseDatabase,
>() {
    let (database, desk, key) = (H::open().await, Desk::new(&[Then::Bounce]), fresh_key());
    let pool = database.pool();
    for replayed in [false, true, true] {
        let call = send_once(&pool, key.clone(), ada(), desk.clone()).replayable();
        let bounced = call.await.expect_err("bounced");
        assert!(matches!(*bounced, MailError::Bounced { code: 550 }));
        assert_eq!(bounced.replayed(), replayed);
    }
    let call = send_once(&pool, key.clone(), "bob".to_owned(), desk.clone()).replayable();
    assert!(!call.await.expect_err("another request").replayed());
    assert_eq!(desk.count(), 1);
}

pub(crate) async fn a_panic_of_a_leased_body_is_its_callers_and_ends_at_once_as_a_lapse_would<
    H: LeaseDatabase,
>() {
    let script = [Then::Panic, Then::Panic];
    let (database, desk) = (H::open().await, Desk::new(&script));
    let pool = database.pool();
    let (key, there, through) = (fresh_key(), desk.clone(), pool.clone());
    let by = key.clone();
    let call = tokio::spawn(async move { send_once(&through, by, ada(), there).await });
    assert!(call.await.expect_err("it panicked").is_panic());
    assert_eq!(database.status(&key).await, Some(Status::Unknown));
    let reported = send_once(&pool, key, ada(), desk.clone()).await;
    let refusal = reported.expect_err("nobody knows").refusal();
    assert!(
        matches!(refusal, Error::OutcomeUnknown { attempt: 1, .. }),
        "{refusal:?}"
    );
    assert_eq!(desk.count(), 1);
    let (key, there, through) = (fresh_key(), desk.clone(), pool.clone());
    let by = key.clone();
    let call = tokio::spawn(async move { send_again(&through, &by, ada(), there).await });
    assert!(call.await.expect_err("it panicked").is_panic());
    assert_eq!(database.status(&key).await, Some(Status::Released));
    let other = send_again(&pool, &key, "grace@example.org".to_owned(), desk.clone()).await;
    let refusal = other.expect_err("another request").refusal();
    assert_eq!(refusal.kind(), ErrorKind::Mismatch);
    let sent = send_again(&pool, &key, ada(), desk.clone()).await;
    assert_eq!(sent.expect("taken over").number, 2);
    assert_eq!(desk.count(), 3);
}

pub(crate) async fn a_panic_while_a_result_is_encoded_ends_at_once_as_a_lapse_would<
    H: LeaseDatabase,
>() {
    #[derive(Debug, Deserialize)]
    struct Explosive;
    impl serde::Serialize for Explosive {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("while it is encoded")
        }
    }
    const NOTE: LeasedOperation =
        Operation::new("mail", "note").lease(Duration::from_mins(5), OnLapse::Unknown);
    let (database, key) = (H::open().await, fresh_key());
    let (pool, by) = (database.pool(), key.clone());
    let call = tokio::spawn(async move {
        NOTE.run(&pool, &by, &1, |_| async { Ok::<_, Error>(Explosive) })
            .await
    });
    assert!(call.await.expect_err("it panicked").is_panic());
    assert_eq!(database.status(&key).await, Some(Status::Unknown));
}

pub(crate) async fn a_body_in_doubt_is_not_run_again_whatever_the_policy<H: LeaseDatabase>() {
    let (database, desk, key) = (H::open().await, Desk::new(&[Then::Doubt]), fresh_key());
    let failed = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    assert!(matches!(failed, Err(MailError::OutOfReach)), "{failed:?}");
    assert_eq!(database.status(&key).await, Some(Status::Unknown));
    let reported = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    let refusal = reported.expect_err("nobody knows").refusal();
    assert_eq!(refusal.kind(), ErrorKind::OutcomeUnknown);
    assert_eq!(desk.count(), 1);
}

pub(crate) async fn a_leased_call_without_a_key_or_a_scope_is_refused<H: LeaseDatabase>() {
    let (database, desk) = (H::open().await, Desk::new(&[]));
    let missing = send_waiting(&database.pool(), None, ada(), desk.clone()).await;
    let refusal = missing.expect_err("no key").refusal();
    assert!(matches!(refusal, Error::KeyMissing { .. }), "{refusal:?}");
    let unscoped = "k".parse().expect("a key");
    let missing = send_once(&database.pool(), unscoped, ada(), desk.clone()).await;
    let refusal = missing.expect_err("no scope").refusal();
    assert!(matches!(refusal, Error::ScopeMissing { .. }), "{refusal:?}");
    assert_eq!(desk.count(), 0);
}

pub(crate) async fn an_operation_with_a_lease_records_failures_only_if_its_type_says_so<
    H: LeaseDatabase,
>() {
    const LEASED: LeasedOperation =
        Operation::new("mail", "plain").lease(Duration::from_mins(1), OnLapse::Unknown);
    const RECORDING: LeasedOperation<RecordFailures> = LEASED.record_failures();
    let (database, key) = (H::open().await, fresh_key());
    let pool = database.pool();
    for _ in 0..2 {
        let failed = LEASED.run(&pool, &key, &1, |_| async {
            Err::<i32, _>(MailError::Bounced { code: 551 })
        });
        let failed = failed.replayable().await.expect_err("bounced");
        assert!(!failed.replayed(), "{failed:?}");
    }
    let done = LEASED
        .run(&pool, &key, &1, |attempt| async move {
            Ok::<_, Error>(attempt.number())
        })
        .await;
    assert_eq!(*done.expect("run"), 3, "the third attempt");
    let key = fresh_key();
    for replayed in [false, true] {
        let recorded = RECORDING.run(&pool, &key, &1, |_| async {
            Err::<i32, _>(MailError::Bounced { code: 551 })
        });
        let recorded = recorded.replayable().await.expect_err("bounced");
        assert_eq!(recorded.replayed(), replayed);
        assert!(
            matches!(&*recorded, MailError::Bounced { code: 551 }),
            "{recorded:?}"
        );
    }
    // Without `record_failures` the operation still replays a failure that is recorded.
    let recorded = LEASED.run(&pool, &key, &1, |_| async { Ok::<i32, MailError>(1) });
    let recorded = recorded.replayable().await.expect_err("recorded");
    assert!(recorded.replayed(), "{recorded:?}");
}
