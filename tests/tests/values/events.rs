//! The event of a refusal, and the count of mismatches.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::telemetry::{TARGET, mismatches};
use idem_runtime::{Error, Operation};
use sqlx::{SqliteTransaction, Transaction};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

use crate::place::{Place, Sqlite, write};
use crate::quoted::{pay, pay_twice};
use crate::secrets::{KEY, REQUEST, expect_none_in, key};
use crate::stored::CallError;

/// The library's events of this thread: the cause of each, and its whole text.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<Told>>>);

#[derive(Default)]
struct Told {
    cause: Option<String>,
    whole: String,
}

impl Visit for Told {
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
        let mut told = Told::default();
        event.record(&mut told);
        self.0.lock().expect("no panic").push(told);
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
        let whole: Vec<_> = events.iter().map(|told| told.whole.clone()).collect();
        for whole in &whole {
            expect_none_in(whole);
        }
        let mut causes = events.into_iter().filter_map(|told| told.cause);
        let cause = causes
            .next()
            .unwrap_or_else(|| panic!("no cause: {whole:?}"));
        assert!(cause.starts_with(&error.to_string()), "{error}: {cause}");
        assert_eq!(causes.next(), None, "{whole:?}");
        cause
    }
}

const TELL: Operation = Operation::new("values", "tell");
const LEASED: Operation = TELL.lease(Duration::from_mins(5), OnLapse::Unknown);

async fn tell<P: Place>(
    place: &P,
    operation: &Operation,
    request: i64,
    body: impl AsyncFnOnce(&mut Transaction<'_, P::Db>) -> Result<f64, CallError>,
) -> Result<(), CallError> {
    let told = operation.run(&place.pool(), &key(), &request, body).await;
    told.map(drop)
}

async fn nothing<P: Place>(_: &mut Transaction<'_, P::Db>) -> Result<f64, CallError> {
    Ok(1.0)
}

async fn record_a_failure<P: Place>(place: &P) {
    let body =
        async |_: &mut Transaction<'_, P::Db>| Err::<f64, _>(CallError::Said("no".to_owned()));
    let recording = TELL.record_failures();
    let failed = recording
        .run_recording(&place.pool(), &key(), &REQUEST, body)
        .await;
    failed.expect_err("the body's own");
}

fn refusal(told: Result<(), CallError>) -> Error {
    told.expect_err("refused").refusal()
}

pub(crate) async fn the_event_of_a_refusal_has_its_whole_text<P: Place>() {
    let place = P::open().await;
    let (events, _guard) = Events::of_this_thread();
    let expect = |told, name: &str| {
        let error = refusal(told);
        assert!(format!("{error:?}").starts_with(name), "{error:?}");
        events.expect(&error);
    };
    let unscoped = KEY.parse::<idem_runtime::IdempotencyKey>().expect("a key");
    let told = TELL
        .run(&place.pool(), &unscoped, &REQUEST, nothing::<P>)
        .await;
    expect(told.map(drop), "ScopeMissing");
    let told = tell(&place, &LEASED, REQUEST, nothing::<P>).await;
    expect(told, "LeasePolicy");
    let told = tell(&place, &TELL.record_failures(), REQUEST, nothing::<P>).await;
    expect(told, "FailurePolicy");
    let leased = async |operation: Operation| {
        let body = async |_| Ok::<f64, CallError>(1.0);
        let told = operation
            .run_leased(&place.pool(), &key(), &REQUEST, body)
            .await;
        told.map(drop)
    };
    expect(leased(TELL).await, "LeasePolicy");
    expect(leased(LEASED.record_failures()).await, "FailurePolicy");
    let told = tell(&place, &TELL, REQUEST, async |_| Ok(f64::NAN)).await;
    expect(told, "NotStorable");
    let told = tell(&place, &TELL, REQUEST, async |tx| {
        let again = TELL.run(&mut *tx, &key(), &REQUEST, nothing::<P>).await?;
        Ok(*again)
    });
    expect(told.await, "NestedSameKey");
    if P::ABORTS {
        let told = tell(&place, &TELL, REQUEST, async |tx| {
            let failed = P::execute(tx, "SELECT 1/0").await;
            assert!(failed.is_err());
            Ok(1.0)
        });
        expect(told.await, "TransactionAborted");
    }
    record_a_failure(&place).await;
    events.0.lock().expect("no panic").clear();
    expect(
        tell(&place, &TELL, REQUEST, nothing::<P>).await,
        "RecordedFailure",
    );
    expect(tell(&place, &TELL, 1, nothing::<P>).await, "Mismatch");
    place
        .run(&["ALTER TABLE idem_record RENAME TO elsewhere"])
        .await;
    expect(tell(&place, &TELL, REQUEST, nothing::<P>).await, "Schema");
    place.pool().close().await;
    expect(
        tell(&place, &TELL, REQUEST, nothing::<P>).await,
        "Unavailable",
    );
    let place = P::open().await;
    let told = tell(&place, &TELL, REQUEST, async |tx| {
        P::execute(tx, "COMMIT").await?;
        Ok(1.0)
    });
    expect(told.await, "TransactionEnded");
}

pub(crate) async fn the_event_of_a_database_error_has_its_whole_text_and_nothing_quoted<
    P: Place,
>() {
    let place = P::open().await;
    let (events, _guard) = Events::of_this_thread();
    if !P::AT_COMMIT.is_empty() {
        place.run(P::AT_COMMIT).await;
        let cause = events.expect(&pay_twice(&place).await);
        assert!(cause.contains("rolled back at COMMIT (code "), "{cause}");
    }
    place.run(P::QUOTING).await;
    let cause = events.expect(&pay(&place).await);
    assert!(cause.contains("(code "), "{cause}");
}

pub(crate) async fn mismatches_are_counted_by_operation<P: Place>() {
    let operation = Operation::new("values", P::COUNTED);
    let count = || {
        let counts = mismatches().into_iter();
        let mut own = counts.filter(|found| found.operation == P::COUNTED);
        let found = own.next().map(|found| (found.namespace, found.count));
        assert_eq!(own.next(), None);
        found
    };
    let place = P::open().await;
    for _ in 0..2 {
        tell(&place, &operation, 1, nothing::<P>)
            .await
            .expect("told");
    }
    // First runs, replays and other refusals are not counted.
    let ended = tell(&place, &operation, 1, async |_| Ok(f64::NAN)).await;
    ended.expect("a replay");
    assert_eq!(count(), None);
    for n in 1..=3 {
        let error = refusal(tell(&place, &operation, 2, nothing::<P>).await);
        assert!(matches!(error, Error::Mismatch(_)), "{error:?}");
        assert_eq!(count(), Some(("values", n)));
    }
    let mut tx = place.pool().begin().await.expect("a transaction");
    let told = operation.run(&mut tx, &key(), &2, nothing::<P>).await;
    assert!(matches!(refusal(told.map(drop)), Error::Mismatch(_)));
    drop(tx);
    assert_eq!(count(), Some(("values", 4)));
}

#[tokio::test]
async fn a_body_that_fails_is_told_without_a_cause() {
    let place = Sqlite::open().await;
    let (events, _guard) = Events::of_this_thread();
    let body = async |tx: &mut SqliteTransaction<'_>| {
        write::<Sqlite>(tx, KEY).await?;
        Err(CallError::Said(KEY.to_owned()))
    };
    let told = tell(&place, &TELL, REQUEST, body).await;
    told.expect_err("the body's own");
    let events = std::mem::take(&mut *events.0.lock().expect("no panic"));
    let [event] = &events[..] else {
        panic!("not one event");
    };
    assert_eq!(event.cause, None);
    expect_none_in(&event.whole);
}
