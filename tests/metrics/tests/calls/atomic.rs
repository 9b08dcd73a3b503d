//! What calls in a transaction count.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;

use idem_runtime::{Error, Operation};
use idem_tests::patience::in_time;
use sqlx::Transaction;
use tokio::sync::oneshot;

use crate::fixture::Fixture;
use crate::{CallError, key, record, recorded};

const PAY: Operation = Operation::new("payments", "pay");
const OF_PAY: [(&str, &str); 2] = [("namespace", "payments"), ("operation", "pay")];

async fn pay<P: Fixture>(
    fixture: &P,
    operation: &Operation,
    request: i64,
) -> Result<bool, CallError> {
    let (pool, key) = (fixture.pool(), key("order-17"));
    let paid = operation.run(&pool, &key, &request, five::<P>);
    paid.await.map(|paid| paid.replayed())
}

async fn five<P: Fixture>(_: &mut Transaction<'_, P::Db>) -> Result<i64, CallError> {
    Ok(5)
}

/// The labels of an operation and one more.
fn and(label: (&'static str, &'static str)) -> [(&'static str, &'static str); 3] {
    [OF_PAY[0], OF_PAY[1], label]
}

pub(crate) async fn a_first_run_is_started_and_finished_and_each_step_is_timed<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    assert!(!pay(&fixture, &PAY, 1).await.expect("it ran"));
    recorded.expect("idempotency_started_total", &OF_PAY, 1);
    recorded.expect(
        "idempotency_finished_total",
        &and(("outcome", "executed")),
        1,
    );
    recorded.expect("idempotency_finished_total", &[], 1);
    let latency = "idempotency_store_latency_seconds_count";
    for step in ["body", "finish"] {
        recorded.expect(latency, &and(("step", step)), 1);
    }
    // The first call of a pool on MariaDB may need more than one attempt to claim.
    assert!(recorded.sum(latency, &and(("step", "claim"))) >= 1.0);
    recorded.expect("idempotency_expired_total", &[], 0);
    recorded.expect("idempotency_replayed_total", &[], 0);
}

pub(crate) async fn a_replay_is_counted_by_kind_and_not_started<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    pay(&fixture, &PAY, 1).await.expect("it ran");
    assert!(pay(&fixture, &PAY, 1).await.expect("it is replayed"));
    let recording = PAY.record_failures();
    for _ in 0..3 {
        let fails = async |_: &mut Transaction<'_, P::Db>| Err::<i64, _>(CallError::Own("no"));
        let failed = recording
            .run(&fixture.pool(), &key("order-18"), &1, fails)
            .await;
        failed.expect_err("the body's own");
    }
    recorded.expect("idempotency_started_total", &OF_PAY, 2);
    recorded.expect("idempotency_replayed_total", &and(("kind", "result")), 1);
    recorded.expect("idempotency_replayed_total", &and(("kind", "failure")), 2);
    for (outcome, count) in [
        ("replayed", 1),
        ("failure_recorded", 1),
        ("failure_replayed", 2),
    ] {
        recorded.expect(
            "idempotency_finished_total",
            &and(("outcome", outcome)),
            count,
        );
    }
}

pub(crate) async fn a_conflict_is_counted_by_kind<P: Fixture>() {
    const REFUND: Operation = Operation::new("payments", "refund");
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    pay(&fixture, &PAY, 1).await.expect("it ran");
    for _ in 0..2 {
        pay(&fixture, &PAY, 2).await.expect_err("another request");
    }
    pay(&fixture, &REFUND, 1)
        .await
        .expect_err("another operation");
    let (pool, own) = (fixture.pool(), key("order-18"));
    let nested = PAY.run(&pool, &own, &1, async |tx| {
        let again = PAY.run(&mut *tx, &own, &1, five::<P>).await?;
        Ok::<_, CallError>(*again)
    });
    nested.await.expect_err("the key is its own");
    let conflicts = "idempotency_conflict_total";
    recorded.expect(conflicts, &and(("kind", "request")), 2);
    recorded.expect(conflicts, &and(("kind", "nested")), 1);
    let of_refund = [("operation", "refund"), ("kind", "operation")];
    recorded.expect(conflicts, &of_refund, 1);
    recorded.expect(conflicts, &[], 4);
}

pub(crate) async fn a_call_in_flight_is_counted<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    let ((entered, is_in), (leave, may_leave)) = (oneshot::channel(), oneshot::channel());
    let (pool, own) = (fixture.pool(), key("order-17"));
    let first = PAY.run(&pool, &own, &1, async |_: &mut Transaction<'_, P::Db>| {
        entered.send(()).expect("the test waits");
        may_leave.await.expect("the test lets it go");
        Ok::<_, CallError>(5)
    });
    let second = async {
        in_time("no body began", is_in).await.expect("it is in");
        let refused = pay(&fixture, &PAY, 1).await.expect_err("in flight");
        assert!(matches!(
            refused,
            CallError::Idempotency(Error::InFlight { .. })
        ));
        leave.send(()).expect("the body waits");
    };
    let (first, ()) = in_time("both end", async { tokio::join!(first, second) }).await;
    first.expect("it ran");
    recorded.expect("idempotency_in_progress_total", &OF_PAY, 1);
    recorded.expect(
        "idempotency_finished_total",
        &and(("outcome", "in_flight")),
        1,
    );
}

pub(crate) async fn a_body_that_runs_because_the_record_has_expired_is_counted<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    let strict = PAY.strict_expiry();
    pay(&fixture, &strict, 1).await.expect("it ran");
    assert!(pay(&fixture, &strict, 1).await.expect("it is replayed"));
    recorded.expect("idempotency_expired_total", &[], 0);
    fixture.expire().await;
    assert!(!pay(&fixture, &strict, 1).await.expect("it ran"));
    recorded.expect("idempotency_expired_total", &OF_PAY, 1);
    recorded.expect("idempotency_started_total", &OF_PAY, 2);
}

pub(crate) async fn a_call_that_is_dropped_or_panics_is_finished_too<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    let (pool, own, other) = (fixture.pool(), key("order-17"), key("order-18"));
    let (entered, is_in) = oneshot::channel();
    let hangs = PAY.run(&pool, &own, &1, async |_: &mut Transaction<'_, P::Db>| {
        entered.send(()).expect("the test waits");
        std::future::pending::<()>().await;
        Ok::<_, CallError>(5)
    });
    tokio::select! {
        _ = hangs => unreachable!("the body hangs"),
        _ = in_time("no body began", is_in) => {}
    }
    let panics = PAY.run(&pool, &other, &1, async |_: &mut Transaction<'_, P::Db>| {
        assert_ne!(other.as_str(), "order-18", "the body's own");
        Ok::<_, CallError>(5)
    });
    let mut panics = pin!(panics);
    let polled = std::future::poll_fn(|context| {
        let is_over = || panics.as_mut().poll(context).is_ready();
        match std::panic::catch_unwind(AssertUnwindSafe(is_over)) {
            Ok(true) => unreachable!("the body panics"),
            Ok(false) => Poll::Pending,
            Err(_) => Poll::Ready(()),
        }
    });
    in_time("no body panicked", polled).await;
    recorded.expect("idempotency_started_total", &OF_PAY, 2);
    recorded.expect(
        "idempotency_finished_total",
        &and(("outcome", "dropped")),
        1,
    );
    // The future of the panic is dropped at the end of the test: its unwinding has dropped the request.
    recorded.expect("idempotency_finished_total", &[], 2);
}
