//! What leased calls count.

use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::takeover::Takeover;
use idem_runtime::{Attempt, Error, LeasedOperation, Operation, TakeoverWorker};
use idem_tests::patience::in_time;
use tokio::sync::oneshot;

use crate::fixture::Fixture;
use crate::{CallError, key, record, recorded};

const HOUR: Duration = Duration::from_hours(1);
const MAIL: Operation = Operation::new("mail", "send");
const RETRY: LeasedOperation = MAIL.lease(HOUR, OnLapse::Retry);
const UNKNOWN: LeasedOperation = MAIL.lease(HOUR, OnLapse::Unknown);
const OF_MAIL: [(&str, &str); 2] = [("namespace", "mail"), ("operation", "send")];

async fn send<P: Fixture>(fixture: &P, operation: &LeasedOperation) -> Result<bool, CallError> {
    let body = |_| async { Ok::<_, CallError>(5) };
    let sent = operation
        .run(&fixture.pool(), &key("mail-1"), &1, body)
        .await;
    sent.map(|sent| sent.replayed())
}

/// A leased call whose body has begun, and what lets the body end.
async fn begun<P: Fixture>(
    fixture: &P,
    operation: LeasedOperation,
) -> (
    oneshot::Sender<()>,
    tokio::task::JoinHandle<Result<i64, CallError>>,
) {
    let ((entered, is_in), (leave, may_leave)) = (oneshot::channel(), oneshot::channel());
    let pool = fixture.pool();
    let call = tokio::spawn(async move {
        let body = |_| async move {
            entered.send(()).expect("the test waits");
            may_leave.await.expect("the test lets it go");
            Ok::<_, CallError>(5)
        };
        let sent = operation.run(&pool, &key("mail-1"), &1, body).await;
        sent.map(idem_runtime::Replayable::into_inner)
    });
    in_time("no body began", is_in).await.expect("it is in");
    (leave, call)
}

pub(crate) async fn a_lease_is_held_as_long_as_its_body_runs<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    let (leave, call) = begun(&fixture, RETRY).await;
    recorded.expect("idempotency_lease_held", &OF_MAIL, 1);
    recorded.expect("idempotency_started_total", &OF_MAIL, 1);
    leave.send(()).expect("the body waits");
    in_time("the call ends", call)
        .await
        .expect("no panic")
        .expect("it ran");
    recorded.expect("idempotency_lease_held", &OF_MAIL, 0);
    for step in ["claim", "body", "finish"] {
        let labels = [OF_MAIL[0], OF_MAIL[1], ("step", step)];
        recorded.expect("idempotency_store_latency_seconds_count", &labels, 1);
    }
    recorded.expect("idempotency_lease_lost_total", &[], 0);
    assert!(send(&fixture, &RETRY).await.expect("it is replayed"));
    recorded.expect("idempotency_replayed_total", &OF_MAIL, 1);
}

pub(crate) async fn a_lapsed_lease_is_counted_by_what_became_of_it<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    let lapsed = "idempotency_lease_lapsed_total";
    let (leave, call) = begun(&fixture, UNKNOWN).await;
    fixture.lapse().await;
    for _ in 0..2 {
        let refused = send(&fixture, &UNKNOWN)
            .await
            .expect_err("it may have happened");
        assert!(matches!(
            refused,
            CallError::Idempotency(Error::OutcomeUnknown { .. })
        ));
    }
    recorded.expect(lapsed, &[OF_MAIL[0], OF_MAIL[1], ("kind", "unknown")], 1);
    let unknown = [OF_MAIL[0], OF_MAIL[1], ("kind", "lease")];
    recorded.expect("idempotency_unknown_outcome_total", &unknown, 2);
    drop(leave);
    call.abort();
    fixture.run("DELETE FROM idem_record").await;

    let (leave, _call) = begun(&fixture, RETRY).await;
    fixture.lapse().await;
    assert!(!send(&fixture, &RETRY).await.expect("it is taken over"));
    recorded.expect(lapsed, &[OF_MAIL[0], OF_MAIL[1], ("kind", "taken_over")], 1);
    drop(leave);
}

pub(crate) async fn a_lease_that_another_attempt_took_is_lost<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    let (leave, call) = begun(&fixture, RETRY).await;
    fixture.lapse().await;
    send(&fixture, &RETRY).await.expect("it is taken over");
    recorded.expect("idempotency_lease_lost_total", &[], 0);
    leave.send(()).expect("the body waits");
    let lost = in_time("the call ends", call).await.expect("no panic");
    assert!(matches!(
        lost,
        Err(CallError::Idempotency(Error::LeaseLost))
    ));
    recorded.expect("idempotency_lease_lost_total", &OF_MAIL, 1);
    let outcome = [OF_MAIL[0], OF_MAIL[1], ("outcome", "lease_lost")];
    recorded.expect("idempotency_finished_total", &outcome, 1);
}

pub(crate) async fn a_heartbeat_that_comes_late_is_counted<P: Fixture>() {
    const SECOND: Duration = Duration::from_secs(1);
    const BRIEF: LeasedOperation = MAIL.lease(SECOND, OnLapse::Retry);
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    let body = |attempt: Attempt| async move {
        // The body keeps the only thread from the heartbeats, until most of the lease is over.
        std::thread::sleep(SECOND * 3 / 4);
        attempt.heartbeat().await?;
        Ok::<_, CallError>(5)
    };
    let (pool, key) = (fixture.pool(), key("mail-1"));
    let sent = BRIEF.run(&pool, &key, &1, body);
    in_time("the call ends", sent).await.expect("it ran");
    let late = recorded.sum("idempotency_lease_heartbeat_late_total", &OF_MAIL);
    assert!(late >= 1.0, "{}", recorded.text());
    recorded.expect("idempotency_lease_lost_total", &OF_MAIL, 0);
}

/// Runs a worker until its first sweep is reported. Its body needs a request of type `Req`.
async fn sweep<P: Fixture, Req>(fixture: &P)
where
    Req: serde::de::DeserializeOwned + Send + 'static,
{
    let (reports, mut reported) = tokio::sync::mpsc::unbounded_channel();
    let takeover = Takeover::of(RETRY).pauses(Duration::ZERO, Duration::ZERO);
    let handled = TakeoverWorker::new(fixture.pool())
        .handle(takeover, |_, _: Req| async { Ok::<i64, CallError>(5) });
    let worker = handled.expect("under retry").on_sweep(move |result| {
        // The test may have ended.
        let _ = reports.send(result.as_ref().map(|swept| swept.found).is_ok());
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let reported = async {
        let swept = reported.recv().await;
        drop(stop);
        swept
    };
    let ((), swept) = in_time("no report", async {
        tokio::join!(worker.run(stopped), reported)
    })
    .await;
    assert_eq!(swept, Some(true));
}

pub(crate) async fn a_takeover_counts_its_sweeps_and_what_it_left<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    let (leave, call) = begun(&fixture, RETRY).await;
    fixture.lapse().await;
    sweep::<P, String>(&fixture).await;
    recorded.expect(
        "idempotency_takeover_left_total",
        &[("reason", "undecodable")],
        1,
    );
    recorded.expect(
        "idempotency_takeover_sweeps_total",
        &[("outcome", "completed")],
        1,
    );
    recorded.expect(
        "idempotency_lease_lapsed_total",
        &[("kind", "taken_over")],
        0,
    );
    leave.send(()).expect("the body waits");
    in_time("the call ends", call)
        .await
        .expect("no panic")
        .expect("nobody took it over");
    sweep::<P, i64>(&fixture).await;
    recorded.expect(
        "idempotency_takeover_left_total",
        &[("reason", "undecodable")],
        1,
    );
}
