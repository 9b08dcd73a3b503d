//! The handles of what is counted at nearly each call: kept of the program's recorder, and of no other. One test, because
//! a program has one recorder.

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::{IdempotencyKey, Operation, Replayable, schema};
use idem_tests::sqlite::{Journal, Sqlite};
use idem_tests_metrics::Recorded;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use metrics_exporter_prometheus::PrometheusHandle;
use sqlx::{SqlitePool, SqliteTransaction};

static COUNTERS: AtomicU32 = AtomicU32::new(0);

/// A recorder that remembers how often it was asked for a counter.
struct Asked(metrics_exporter_prometheus::PrometheusRecorder);

impl Recorder for Asked {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        self.0.describe_counter(name, unit, text);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        self.0.describe_gauge(name, unit, text);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        self.0.describe_histogram(name, unit, text);
    }

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        COUNTERS.fetch_add(1, Ordering::SeqCst);
        self.0.register_counter(key, metadata)
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        self.0.register_gauge(key, metadata)
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        self.0.register_histogram(key, metadata)
    }
}

const NOTE: Operation = Operation::new("notes", "note");

async fn note(pool: &SqlitePool, text: &str) -> i64 {
    let key = text.parse::<IdempotencyKey>().expect("a key").global();
    let body = async |_: &mut SqliteTransaction<'_>| Ok::<_, idem_runtime::Error>(1);
    let noted = NOTE.run(pool, &key, &1, body).await;
    noted.map(Replayable::into_inner).expect("it ran")
}

/// Returns the number of the calls that were executed.
fn executed(handle: &PrometheusHandle) -> u32 {
    let text = handle.render();
    let line = text.lines().find(|line| {
        line.starts_with("idempotency_finished_total") && line.contains("\"executed\"")
    });
    let value = line.and_then(|line| line.rsplit_once(' '));
    value.map_or(0, |(_, value)| value.parse().expect("a number"))
}

#[tokio::test(flavor = "current_thread")]
async fn handles_are_kept_of_the_programs_recorder_and_of_no_other() {
    let database = Sqlite::fresh(Journal::Wal);
    schema::create_if_missing(&mut database.connect().await)
        .await
        .expect("made");
    let pool = database.pool(2);
    note(&pool, "before").await;

    // Installed late, and in use from the next call on.
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new()
        .with_recommended_naming(true)
        .build_recorder();
    let handle = recorder.handle();
    assert!(metrics::set_global_recorder(Asked(recorder)).is_ok());
    note(&pool, "first").await;
    assert_eq!(executed(&handle), 1, "{}", handle.render());

    let asked = COUNTERS.load(Ordering::SeqCst);
    for number in 0..20 {
        note(&pool, &format!("kept-{number}")).await;
    }
    assert_eq!(executed(&handle), 21);
    let asked = COUNTERS.load(Ordering::SeqCst) - asked;
    // At each of the 20 calls it would be 40. On a slow machine the handles are asked for once more.
    assert!(asked <= 8, "{asked} times");

    // A thread's own recorders get what is theirs, even at one address, and nothing is taken from the program's.
    for round in 0..2 {
        let own = Recorded::new(&[1.0]);
        let guard = metrics::set_default_local_recorder(own.recorder());
        note(&pool, &format!("own-{round}")).await;
        drop(guard);
        own.expect("idempotency_finished_total", &[("outcome", "executed")], 1);
    }
    assert_eq!(executed(&handle), 21);
    note(&pool, "last").await;
    assert_eq!(executed(&handle), 22);
}
