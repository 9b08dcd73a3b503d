//! A worker takes lapsed leases over: what it runs, how it ends, and of whom one owns the key.

use std::collections::HashSet;
use std::time::Duration;

use idem_runtime::lease::drain;
use idem_runtime::policy::{OnLapse, RecordFailures};
use idem_runtime::record::Status;
use idem_runtime::store::LeaseBackend;
use idem_runtime::takeover::{Takeover, TakeoverSweep};
use idem_runtime::{Attempt, Error, IdempotencyKey, LeasedOperation, Operation, TakeoverWorker};
use idem_tests::patience::in_time;
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::Pool;
use tokio::sync::oneshot;

use crate::abandoned::{Edited, abandon};
use crate::database::LeaseDatabase;
use crate::desk::{Desk, MailError, Then, ada, fresh_key, send_again, send_once};

const LEASE: Duration = Duration::from_mins(5);

/// The operation of `send_again`.
pub(crate) const SEND: LeasedOperation<RecordFailures> = Operation::new("mail", "send")
    .record_failures()
    .lease(LEASE, OnLapse::Retry);

/// What the record of `send_again` keeps.
#[derive(Deserialize)]
pub(crate) struct SendRequest {
    to: String,
}

/// Returns a worker that takes mails over without a pause, up to this many attempts.
pub(crate) fn worker<H: LeaseDatabase>(
    database: &H,
    desk: &Desk,
    attempts: u32,
) -> TakeoverWorker<H::Db> {
    let takeover = Takeover::of(SEND).attempts(attempts);
    worker_through(
        database.pool(),
        desk,
        takeover.pauses(Duration::ZERO, Duration::ZERO),
    )
}

/// Returns a worker with these bounds, through this pool.
pub(crate) fn worker_through<D: LeaseBackend>(
    pool: Pool<D>,
    desk: &Desk,
    takeover: Takeover<RecordFailures>,
) -> TakeoverWorker<D> {
    let desk = desk.clone();
    let handled = TakeoverWorker::new(pool).handle(
        takeover,
        move |attempt: Attempt, request: SendRequest| {
            let desk = desk.clone();
            async move {
                assert_eq!(request.to, ada());
                desk.deliver(&attempt).await
            }
        },
    );
    handled.expect("it is under retry")
}

/// What clients send with the mail.
pub(crate) fn to_ada() -> Value {
    json!({ "to": ada() })
}

async fn sweep<D: LeaseBackend>(worker: &TakeoverWorker<D>) -> TakeoverSweep {
    worker.run_once().await.expect("it answers")
}

pub(crate) async fn an_abandoned_mail_is_sent_by_the_worker_and_its_client_replays<
    H: LeaseDatabase,
>() {
    let (database, key, desk) = (H::open().await, fresh_key(), Desk::new(&[]));
    abandon(&database, &key, "send", &to_ada(), OnLapse::Retry).await;
    let worker = worker(&database, &desk, 9);
    assert_eq!(sweep(&worker).await, TakeoverSweep::default(), "it is live");
    database.lapse().await;
    let swept = sweep(&worker).await;
    assert_eq!((swept.found, swept.begun, swept.completed), (1, 1, 1));
    assert_eq!(desk.mails().first().map(|(number, _)| *number), Some(2));
    let replayed = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    let replayed = replayed.expect("it was sent");
    assert!(replayed.replayed() && replayed.number == 2);
    assert_eq!(desk.count(), 1);
    assert_eq!(sweep(&worker).await, TakeoverSweep::default());
}

pub(crate) async fn the_worker_gives_the_provider_the_key_that_the_client_gave<H: LeaseDatabase>() {
    let (database, key) = (H::open().await, fresh_key());
    let desk = Desk::new(&[Then::Wait]);
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let late = tokio::spawn(async move { send_again(&pool, &by, ada(), there).await });
    let owner = desk.reached().await;
    assert_eq!(owner.key(), key);
    database.lapse().await;
    assert_eq!(sweep(&worker(&database, &desk, 9)).await.completed, 1);
    let mails = desk.mails();
    assert_eq!(mails[0].1, mails[1].1);
    // And the owner, which is late, is fenced off.
    desk.open();
    let late = late.await.expect("no panic").expect_err("it is late");
    assert!(matches!(late.refusal(), Error::LeaseLost));
    let record = database.record(&key).await.expect("there is one");
    assert_eq!((record.status, record.attempt), (Status::Completed, 2));
}

pub(crate) async fn a_live_lease_is_never_taken_over<H: LeaseDatabase>() {
    let (database, key) = (H::open().await, fresh_key());
    let desk = Desk::new(&[Then::Wait]);
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let owner = tokio::spawn(async move { send_again(&pool, &by, ada(), there).await });
    let attempt = desk.reached().await;
    let worker = worker(&database, &desk, 1);
    assert_eq!(sweep(&worker).await, TakeoverSweep::default());
    // A lapse that a heartbeat has mended.
    database.lapse().await;
    attempt.heartbeat().await.expect("nobody took it over");
    assert_eq!(sweep(&worker).await, TakeoverSweep::default());
    desk.open();
    let sent = owner.await.expect("no panic").expect("it is its own");
    assert_eq!((sent.number, desk.count()), (1, 1));
}

pub(crate) async fn of_many_workers_and_clients_at_once_one_runs_the_body<H: LeaseDatabase>() {
    const KEYS: usize = 6;
    let (database, desk) = (H::open().await, Desk::new(&[]));
    let keys: Vec<_> = (0..KEYS).map(|_| fresh_key()).collect();
    for key in &keys {
        abandon(&database, key, "send", &to_ada(), OnLapse::Retry).await;
    }
    database.lapse().await;
    let mut calls = tokio::task::JoinSet::new();
    for key in &keys {
        let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
        calls.spawn(async move {
            match send_again(&pool, &by, ada(), there).await {
                Ok(sent) => assert_eq!(sent.number, 2),
                Err(error) => {
                    let refusal = error.refusal();
                    assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
                }
            }
        });
    }
    for _ in 0..4 {
        let worker = worker(&database, &desk, 9);
        calls.spawn(async move {
            sweep(&worker).await;
        });
    }
    while let Some(ended) = calls.join_next().await {
        ended.expect("no panic");
    }
    assert_eq!(desk.count(), KEYS);
    for key in &keys {
        let record = database.record(key).await.expect("there is one");
        assert_eq!((record.status, record.attempt), (Status::Completed, 2));
    }
}

pub(crate) async fn a_run_that_fails_is_repeated_until_its_attempts_are_used_up<
    H: LeaseDatabase,
>() {
    let (database, key) = (H::open().await, fresh_key());
    let desk = Desk::new(&[Then::Fail, Then::Panic]);
    abandon(&database, &key, "send", &to_ada(), OnLapse::Retry).await;
    database.lapse().await;
    let worker = worker(&database, &desk, 3);
    assert_eq!(sweep(&worker).await.failed, 1);
    assert_eq!(database.status(&key).await, Some(Status::InProgress));
    // The third attempt is the last one.
    assert_eq!(sweep(&worker).await.failed, 1);
    assert_eq!(database.status(&key).await, Some(Status::Unknown));
    assert_eq!(sweep(&worker).await, TakeoverSweep::default());
    let refused = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    let refusal = refused.expect_err("nobody knows").refusal();
    assert!(
        matches!(refusal, Error::OutcomeUnknown { attempt: 3, .. }),
        "{refusal:?}"
    );
    let numbers: Vec<_> = desk.mails().iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [2, 3]);
}

pub(crate) async fn a_lapse_of_the_last_attempt_makes_the_outcome_unknown<H: LeaseDatabase>() {
    let (database, key, desk) = (H::open().await, fresh_key(), Desk::new(&[]));
    abandon(&database, &key, "send", &to_ada(), OnLapse::Retry).await;
    let worker = worker(&database, &desk, 1);
    assert_eq!(sweep(&worker).await, TakeoverSweep::default());
    assert_eq!(database.status(&key).await, Some(Status::InProgress));
    database.lapse().await;
    let swept = sweep(&worker).await;
    assert_eq!((swept.found, swept.unknown, swept.begun), (1, 1, 0));
    assert_eq!(database.status(&key).await, Some(Status::Unknown));
    assert_eq!(desk.count(), 0);
}

pub(crate) async fn after_a_failed_run_a_client_need_not_wait_and_the_worker_does<
    H: LeaseDatabase,
>() {
    let (database, key) = (H::open().await, fresh_key());
    let desk = Desk::new(&[Then::Fail, Then::Succeed]);
    abandon(&database, &key, "send", &to_ada(), OnLapse::Retry).await;
    database.lapse().await;
    assert_eq!(sweep(&worker(&database, &desk, 9)).await.failed, 1);
    let hour = Duration::from_hours(1);
    let patient = worker_through(
        database.pool(),
        &desk,
        Takeover::of(SEND).pauses(hour, hour),
    );
    let swept = sweep(&patient).await;
    assert_eq!((swept.found, swept.waiting, swept.begun), (1, 1, 0));
    let sent = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    assert_eq!(sent.expect("taken over").number, 3);
}

pub(crate) async fn a_permanent_failure_of_the_worker_is_replayed_to_the_client<
    H: LeaseDatabase,
>() {
    let (database, key) = (H::open().await, fresh_key());
    let desk = Desk::new(&[Then::Bounce]);
    abandon(&database, &key, "send", &to_ada(), OnLapse::Retry).await;
    database.lapse().await;
    assert_eq!(sweep(&worker(&database, &desk, 9)).await.failed, 1);
    let replayed = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    let failure = replayed.expect_err("it bounced");
    assert!(
        matches!(failure, MailError::Bounced { code: 550 }),
        "{failure:?}"
    );
    assert_eq!(desk.count(), 1);
}

/// A heartbeat on its way would find it again, and let clients wait for nobody.
pub(crate) async fn a_lease_that_the_worker_has_ended_is_no_attempts_any_more<H: LeaseDatabase>() {
    let (database, key) = (H::open().await, fresh_key());
    let desk = Desk::new(&[Then::WaitToFail, Then::Succeed]);
    abandon(&database, &key, "send", &to_ada(), OnLapse::Retry).await;
    database.lapse().await;
    let began = async {
        let attempt = desk.reached().await;
        desk.open();
        attempt
    };
    let worker = worker(&database, &desk, 9);
    let (swept, attempt) = tokio::join!(sweep(&worker), began);
    assert_eq!(swept.failed, 1);
    let record = database.record(&key).await.expect("there is one");
    assert_eq!((record.status, record.attempt), (Status::InProgress, 2));
    assert_ne!(record.attempt_id, attempt.id());
    attempt.heartbeat().await.expect_err("it is over");
    let sent = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    assert_eq!(sent.expect("taken over at once").number, 3);
}

pub(crate) async fn bodies_that_hang_keep_no_other_operation_waiting<H: LeaseDatabase>() {
    const POST: LeasedOperation = Operation::new("mail", "post").lease(LEASE, OnLapse::Retry);
    let (database, desk, post) = (H::open().await, Desk::new(&[]), Desk::new(&[Then::Wait]));
    for _ in 0..2 {
        abandon(&database, &fresh_key(), "post", &to_ada(), OnLapse::Retry).await;
    }
    let key = fresh_key();
    abandon(&database, &key, "send", &to_ada(), OnLapse::Retry).await;
    database.lapse().await;
    let at_once = Takeover::of(POST).pauses(Duration::ZERO, Duration::ZERO);
    let hangs = post.clone();
    let handled = worker(&database, &desk, 9).handle(at_once, move |attempt: Attempt, _: Value| {
        let hangs = hangs.clone();
        async move { hangs.deliver(&attempt).await.map(|sent| sent.number) }
    });
    let worker = handled.expect("it is under retry").concurrency(1);
    let worker = worker.interval(Duration::from_millis(5));
    let (stop, stopped) = oneshot::channel::<()>();
    let taking_over = tokio::spawn(worker.run(stopped));
    post.reached().await;
    let sent = async {
        while database.status(&key).await != Some(Status::Completed) {
            tokio::task::yield_now().await;
        }
    };
    in_time("the other operation waits", sent).await;
    drop(stop);
    post.open();
    in_time("the worker does not end", taking_over)
        .await
        .expect("no panic");
    in_time("its runs do not end", drain()).await;
}

pub(crate) async fn a_run_in_doubt_is_not_repeated<H: LeaseDatabase>() {
    let (database, key) = (H::open().await, fresh_key());
    let desk = Desk::new(&[Then::Doubt]);
    abandon(&database, &key, "send", &to_ada(), OnLapse::Retry).await;
    database.lapse().await;
    assert_eq!(sweep(&worker(&database, &desk, 9)).await.failed, 1);
    assert_eq!(database.status(&key).await, Some(Status::Unknown));
}

pub(crate) async fn what_the_worker_does_not_handle_is_untouched<H: LeaseDatabase>() {
    let (database, desk) = (H::open().await, Desk::new(&[Then::Fail]));
    let (other, unknown, released) = (fresh_key(), fresh_key(), fresh_key());
    abandon(&database, &other, "forward", &to_ada(), OnLapse::Retry).await;
    // Claimed by a build whose operation was under `on_lapse = "unknown"`.
    abandon(&database, &unknown, "send", &to_ada(), OnLapse::Unknown).await;
    // Its client was told.
    let failed = send_again(&database.pool(), &released, ada(), desk.clone()).await;
    assert!(matches!(failed, Err(MailError::OutOfReach)), "{failed:?}");
    database.lapse().await;
    for attempts in [1, 9] {
        let swept = sweep(&worker(&database, &desk, attempts)).await;
        assert_eq!(swept, TakeoverSweep::default());
    }
    for (key, status) in [
        (&other, Status::InProgress),
        (&unknown, Status::InProgress),
        (&released, Status::Released),
    ] {
        let record = database.record(key).await.expect("there is one");
        assert_eq!((record.status, record.attempt), (status, 1));
    }
    assert_eq!(desk.count(), 1);
    let refused = send_once(&database.pool(), unknown, ada(), desk).await;
    let refusal = refused.expect_err("nobody knows").refusal();
    assert!(matches!(refusal, Error::OutcomeUnknown { .. }));
}

pub(crate) async fn a_cancelled_worker_begins_nothing_and_its_runs_go_on<H: LeaseDatabase>() {
    let (database, desk) = (H::open().await, Desk::new(&[Then::Wait]));
    let key: IdempotencyKey = fresh_key();
    abandon(&database, &key, "send", &to_ada(), OnLapse::Retry).await;
    database.lapse().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let taking_over = tokio::spawn(worker(&database, &desk, 9).run(stopped));
    let attempt = desk.reached().await;
    drop(stop);
    let ended = in_time("the worker does not end", taking_over).await;
    ended.expect("no panic");
    assert!(!attempt.is_lost());
    desk.open();
    in_time("its run does not end", drain()).await;
    assert_eq!(database.status(&key).await, Some(Status::Completed));
}

pub(crate) async fn many_abandoned_mails_are_sent_page_by_page_a_few_at_a_time<H: Edited>() {
    const MAILS: u64 = 230;
    let (database, desk) = (H::open().await, Desk::new(&[]));
    let first = fresh_key();
    abandon(&database, &first, "send", &to_ada(), OnLapse::Retry).await;
    database.copy_record(MAILS - 1).await;
    database.lapse().await;
    let worker = worker(&database, &desk, 9).concurrency(3);
    let swept = sweep(&worker).await;
    assert_eq!(
        (swept.found, swept.begun, swept.completed),
        (MAILS, MAILS, MAILS)
    );
    let keys: HashSet<_> = desk.mails().into_iter().map(|mail| mail.1).collect();
    assert_eq!(keys.len() as u64, MAILS);
}
