//! What the purge counts, and what the sampler sees.

use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::{LeasedOperation, MetricsSampler, Operation, PurgeWorker};
use idem_tests::patience::in_time;
use sqlx::Transaction;
use tokio::sync::mpsc;

use crate::fixture::Fixture;
use crate::{CallError, key, record, recorded};

const NOTE: Operation = Operation::new("notes", "note");
const LEASED: LeasedOperation = NOTE.lease(Duration::from_hours(1), OnLapse::Unknown);

async fn note<P: Fixture>(fixture: &P, text: &str) {
    let (pool, key) = (fixture.pool(), key(text));
    let body = async |_: &mut Transaction<'_, P::Db>| Ok::<_, CallError>(1);
    let noted = NOTE.run(&pool, &key, &1, body);
    noted.await.expect("it ran");
}

/// Records an outcome that nobody knows.
async fn leave_unknown<P: Fixture>(fixture: &P, text: &str) {
    let body = |attempt: idem_runtime::Attempt| async move {
        attempt.outcome_unknown();
        Err::<i64, _>(CallError::Own("no answer"))
    };
    let left = LEASED.run(&fixture.pool(), &key(text), &1, body).await;
    left.expect_err("the body's own");
}

/// Sweeps once, and waits for the report.
async fn sweep<P: Fixture>(fixture: &P) {
    let (reports, mut reported) = mpsc::unbounded_channel();
    let worker = PurgeWorker::new(fixture.pool())
        .unknown_retention(Duration::from_mins(30))
        .expect("a retention")
        .on_sweep(move |result| {
            let rows = result.as_ref().map(|purged| purged.rows);
            // The test may have ended.
            let _ = reports.send(rows.map_err(ToString::to_string));
        });
    let swept = reported.recv();
    tokio::select! {
        () = worker.run(std::future::pending::<()>()) => unreachable!("nobody ends it"),
        report = in_time("no report", swept) => {
            report.expect("the worker runs").expect("a sweep");
        }
    }
}

pub(crate) async fn a_sweep_counts_what_it_deleted<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    for text in ["a", "b"] {
        note(&fixture, text).await;
    }
    leave_unknown(&fixture, "c").await;
    fixture.expire().await;
    note(&fixture, "d").await;
    fixture.lapse().await;
    sweep(&fixture).await;
    recorded.expect("idempotency_purge_deleted_total", &[("kind", "expired")], 2);
    recorded.expect("idempotency_purge_deleted_total", &[("kind", "unknown")], 1);
    recorded.expect(
        "idempotency_purge_sweeps_total",
        &[("outcome", "completed")],
        1,
    );
}

pub(crate) async fn a_sample_says_what_is_unknown_and_how_far_the_purge_is_behind<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    let sampler = MetricsSampler::new(fixture.pool());
    let unknown = "idempotency_unknown_outcome_overdue";
    let overdue = "idempotency_purge_overdue_seconds";
    sampler.sample().await.expect("an empty table");
    recorded.expect(unknown, &[], 0);
    recorded.expect(overdue, &[], 0);

    note(&fixture, "a").await;
    leave_unknown(&fixture, "b").await;
    sampler.sample().await.expect("a sample");
    recorded.expect(unknown, &[], 0);
    recorded.expect(overdue, &[], 0);

    fixture.expire().await;
    fixture.lapse().await;
    note(&fixture, "c").await;
    sampler.sample().await.expect("a sample");
    recorded.expect(unknown, &[], 1);
    let behind = recorded.sum(overdue, &[]);
    assert!((3_590.0..7_200.0).contains(&behind), "{behind}");

    sweep(&fixture).await;
    sampler.sample().await.expect("a sample");
    recorded.expect(unknown, &[], 0);
    recorded.expect(overdue, &[], 0);
    recorded.expect(
        "idempotency_sampler_samples_total",
        &[("outcome", "taken")],
        4,
    );
}

pub(crate) async fn what_a_legal_hold_keeps_is_not_behind<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    note(&fixture, "a").await;
    fixture.expire().await;
    fixture.run(P::HOLD).await;
    let sampler = MetricsSampler::new(fixture.pool());
    sampler.sample().await.expect("a sample");
    recorded.expect("idempotency_purge_overdue_seconds", &[], 0);
    sweep(&fixture).await;
    recorded.expect("idempotency_purge_deleted_total", &[("kind", "expired")], 0);
    fixture.run("DELETE FROM idem_hold").await;
    sampler.sample().await.expect("a sample");
    let behind = recorded.sum("idempotency_purge_overdue_seconds", &[]);
    assert!(behind > 3_590.0, "{behind}");
}

pub(crate) async fn a_failed_sample_is_counted_and_the_gauges_stay<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    leave_unknown(&fixture, "a").await;
    fixture.lapse().await;
    let sampler = MetricsSampler::new(fixture.pool());
    sampler.sample().await.expect("a sample");
    for what in ["VIEW idem_record_readable", "TABLE idem_record"] {
        fixture.run(&format!("DROP {what}")).await;
    }
    sampler.sample().await.expect_err("there is no table");
    recorded.expect("idempotency_unknown_outcome_overdue", &[], 1);
    recorded.expect(
        "idempotency_sampler_samples_total",
        &[("outcome", "failed")],
        1,
    );
}
