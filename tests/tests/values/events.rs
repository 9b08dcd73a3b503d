//! The event of a refusal, and the count of mismatches.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::telemetry::{TARGET, mismatches};
use idem_runtime::{Error, LeasedOperation, Operation};
use sqlx::{SqliteTransaction, Transaction};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

use crate::fixture::{Fixture, Sqlite, write};
use crate::quoted::{pay, pay_twice};
use crate::secrets::{KEY, REQUEST, expect_none_in, key};
use crate::stored::CallError;

/// The library's events of this thread: the cause of each, and its whole text.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<Reported>>>);

#[derive(Default)]
struct Reported {
    cause: Option<String>,
    whole: String,
}

impl Visit for Reported {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "cause" {
            self.cause = Some(value.to_owned());
        }
        self.record_debug(field, &value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.whole, " {field}={value:?}").expect("a string takes all");
    }
}

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn event(&self, event: &Event<'_>) {
        let mut reported = Reported::default();
        event.record(&mut reported);
        self.0.lock().expect("no panic").push(reported);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Events {
    fn of_this_thread() -> (Self, DefaultGuard) {
        let events = Self::default();
        let guard = tracing::subscriber::set_default(events.clone());
        (events, guard)
    }

    /// Asserts that there was one refusal since the last call, whose cause begins with the whole
    /// text of the error. Returns the cause.
    #[track_caller]
    fn expect(&self, error: &Error) -> String {
        let events = std::mem::take(&mut *self.0.lock().expect("no panic"));
        let whole: Vec<_> = events
            .iter()
            .map(|reported| reported.whole.clone())
            .collect();
        for whole in &whole {
            expect_none_in(whole);
        }
        let mut causes = events.into_iter().filter_map(|reported| reported.cause);
        let cause = causes
            .next()
            .unwrap_or_else(|| panic!("no cause: {whole:?}"));
        assert!(cause.starts_with(&error.to_string()), "{error}: {cause}");
        assert_eq!(causes.next(), None, "{whole:?}");
        cause
    }
}

const REPORT: Operation = Operation::new("values", "tell");
const LEASED: LeasedOperation = REPORT.lease(Duration::from_mins(5), OnLapse::Unknown);

async fn report<P: Fixture>(
    fixture: &P,
    operation: &Operation,
    request: i64,
    body: impl AsyncFnOnce(&mut Transaction<'_, P::Db>) -> Result<f64, CallError>,
) -> Result<(), CallError> {
    let reported = operation.run(&fixture.pool(), &key(), &request, body).await;
    reported.map(drop)
}

async fn nothing<P: Fixture>(_: &mut Transaction<'_, P::Db>) -> Result<f64, CallError> {
    Ok(1.0)
}

async fn record_a_failure<P: Fixture>(fixture: &P) {
    let body =
        async |_: &mut Transaction<'_, P::Db>| Err::<f64, _>(CallError::Said("no".to_owned()));
    let recording = REPORT.record_failures();
    let failed = recording.run(&fixture.pool(), &key(), &REQUEST, body).await;
    failed.expect_err("the body's own");
}

fn refusal(reported: Result<(), CallError>) -> Error {
    reported.expect_err("refused").refusal()
}

pub(crate) async fn the_event_of_a_mismatch_has_the_places_that_differ<P: Fixture>() {
    const KEPT: Operation = Operation::new("values", "kept").record_request();
    let fixture = P::open().await;
    let (events, _guard) = Events::of_this_thread();
    let call = async |memo: &str| {
        let request = serde_json::json!({"cmd": {"memo": memo}});
        let pool = fixture.pool();
        let called = KEPT.run(&pool, &key(), &request, nothing::<P>).await;
        called.map(drop)
    };
    call("one").await.expect("the first");
    refusal(call("two").await);
    let events = std::mem::take(&mut *events.0.lock().expect("no panic"));
    let [first, second] = &*events else {
        panic!("{} events", events.len())
    };
    assert!(!first.whole.contains("differing"), "{}", first.whole);
    assert!(
        second.whole.contains(" differing=\"/cmd/memo\""),
        "{}",
        second.whole
    );
    assert!(!second.whole.contains("one") && !second.whole.contains("two"));
}

pub(crate) async fn the_event_of_a_refusal_has_its_whole_text<P: Fixture>() {
    let fixture = P::open().await;
    let (events, _guard) = Events::of_this_thread();
    let expect = |reported, name: &str| {
        let error = refusal(reported);
        assert!(format!("{error:?}").starts_with(name), "{error:?}");
        events.expect(&error);
    };
    let unscoped = KEY.parse::<idem_runtime::IdempotencyKey>().expect("a key");
    let reported = REPORT
        .run(&fixture.pool(), &unscoped, &REQUEST, nothing::<P>)
        .await;
    expect(reported.map(drop), "ScopeMissing");
    let body = async |_| Ok::<f64, CallError>(1.0);
    let reported = LEASED.run(&fixture.pool(), &unscoped, &REQUEST, body).await;
    expect(reported.map(drop), "ScopeMissing");
    let reported = report(&fixture, &REPORT, REQUEST, async |_| Ok(f64::NAN)).await;
    expect(reported, "NotStorable");
    let reported = report(&fixture, &REPORT, REQUEST, async |tx| {
        let again = REPORT.run(&mut *tx, &key(), &REQUEST, nothing::<P>).await?;
        Ok(*again)
    });
    expect(reported.await, "NestedSameKey");
    if P::ABORTS {
        let reported = report(&fixture, &REPORT, REQUEST, async |tx| {
            let failed = P::execute(tx, "SELECT 1/0").await;
            assert!(failed.is_err());
            Ok(1.0)
        });
        expect(reported.await, "TransactionAborted");
    }
    record_a_failure(&fixture).await;
    events.0.lock().expect("no panic").clear();
    expect(
        report(&fixture, &REPORT, REQUEST, nothing::<P>).await,
        "RecordedFailure",
    );
    expect(report(&fixture, &REPORT, 1, nothing::<P>).await, "Mismatch");
    fixture
        .run(&["ALTER TABLE idem_record RENAME TO elsewhere"])
        .await;
    expect(
        report(&fixture, &REPORT, REQUEST, nothing::<P>).await,
        "Schema",
    );
    fixture.pool().close().await;
    expect(
        report(&fixture, &REPORT, REQUEST, nothing::<P>).await,
        "Unavailable",
    );
    let fixture = P::open().await;
    let reported = report(&fixture, &REPORT, REQUEST, async |tx| {
        P::execute(tx, "COMMIT").await?;
        Ok(1.0)
    });
    expect(reported.await, "TransactionEnded");
}

pub(crate) async fn the_event_of_a_database_error_has_its_whole_text_and_nothing_quoted<
    P: Fixture,
>() {
    let fixture = P::open().await;
    let (events, _guard) = Events::of_this_thread();
    if !P::AT_COMMIT.is_empty() {
        fixture.run(P::AT_COMMIT).await;
        let cause = events.expect(&pay_twice(&fixture).await);
        assert!(
            cause.starts_with("COMMIT failed") && cause.contains("(code "),
            "{cause}"
        );
    }
    fixture.run(P::QUOTING).await;
    let cause = events.expect(&pay(&fixture).await);
    assert!(cause.contains("(code "), "{cause}");
}

pub(crate) async fn mismatches_are_counted_by_operation<P: Fixture>() {
    let operation = Operation::new("values", P::COUNTED);
    let count = || {
        let counts = mismatches().into_iter();
        let mut own = counts.filter(|found| found.operation == P::COUNTED);
        let found = own.next().map(|found| (found.namespace, found.count));
        assert_eq!(own.next(), None);
        found
    };
    let fixture = P::open().await;
    for _ in 0..2 {
        report(&fixture, &operation, 1, nothing::<P>)
            .await
            .expect("told");
    }
    // First runs, replays and other refusals are not counted.
    let ended = report(&fixture, &operation, 1, async |_| Ok(f64::NAN)).await;
    ended.expect("a replay");
    assert_eq!(count(), None);
    for n in 1..=3 {
        let error = refusal(report(&fixture, &operation, 2, nothing::<P>).await);
        assert!(matches!(error, Error::Mismatch(_)), "{error:?}");
        assert_eq!(count(), Some(("values", n)));
    }
    let mut tx = fixture.pool().begin().await.expect("a transaction");
    let reported = operation.run(&mut tx, &key(), &2, nothing::<P>).await;
    assert!(matches!(refusal(reported.map(drop)), Error::Mismatch(_)));
    drop(tx);
    assert_eq!(count(), Some(("values", 4)));
}

#[tokio::test]
async fn a_body_that_fails_is_told_without_a_cause() {
    let fixture = Sqlite::open().await;
    let (events, _guard) = Events::of_this_thread();
    let body = async |tx: &mut SqliteTransaction<'_>| {
        write::<Sqlite>(tx, KEY).await?;
        Err(CallError::Said(KEY.to_owned()))
    };
    let reported = report(&fixture, &REPORT, REQUEST, body).await;
    reported.expect_err("the body's own");
    let events = std::mem::take(&mut *events.0.lock().expect("no panic"));
    let [event] = &events[..] else {
        panic!("not one event");
    };
    assert_eq!(event.cause, None);
    expect_none_in(&event.whole);
}
