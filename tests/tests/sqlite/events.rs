//! The event that every call emits.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::telemetry::TARGET;
use idem_runtime::{Error, LeasedOperation, Operation};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::payments::{Books, Gate, JOURNALS, PayError, key, pay, pay_and, refused};

/// The library's events of this thread, each formatted as `level field=value ..`.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").expect("a string takes all");
    }
}

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(event.metadata().level().to_string());
        event.record(&mut text);
        self.0.lock().expect("no panic").push(text.0);
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

    /// Asserts that there was exactly one event, with this level and these fields, and that it
    /// quotes nothing of `SECRETS`.
    #[track_caller]
    fn expect(&self, level: Level, fields: &[&str]) {
        let events = std::mem::take(&mut *self.0.lock().expect("no panic"));
        let [event] = &events[..] else {
            panic!("not one event: {events:#?}");
        };
        assert!(event.starts_with(level.as_str()), "{event}");
        for field in fields {
            assert!(event.contains(&format!(" {field}")), "{field}: {event}");
        }
        for secret in SECRETS {
            assert!(!event.contains(secret), "{event}");
        }
    }
}

/// The texts of the key, the request and the result.
const SECRETS: [&str; 3] = ["key-of-ada", "4815162342", "4111-1111"];
const CENTS: i64 = 4_815_162_342;

#[tokio::test]
async fn a_first_run_a_replay_and_a_refusal_of_the_request_are_told_apart() {
    let books = Books::open(JOURNALS[0], 1).await;
    let (events, _guard) = Events::of_this_thread();
    let key = key(SECRETS[0]);
    pay(&books.pool, &key, CENTS).await.expect("paid");
    let common = [
        "namespace=\"payments\"",
        "operation=\"pay\"",
        "key=\"",
        "elapsed_us=",
    ];
    events.expect(Level::INFO, &common);
    pay(&books.pool, &key, CENTS).await.expect("paid");
    let replay = [
        "outcome=\"replayed\"",
        "replayed=true",
        "recorded_at_us=",
        "attempt=1",
    ];
    events.expect(Level::INFO, &replay);
    refused(pay(&books.pool, &key, 1).await);
    let mismatch = [
        "outcome=\"mismatch\"",
        "kind=\"mismatch\"",
        "refusal=\"Mismatch\"",
    ];
    events.expect(Level::INFO, &mismatch);
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_not_told_as_a_replay() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key(SECRETS[0]);
    pay(&books.pool, &key, CENTS).await.expect("paid");
    for (edit, refusal, cause) in [
        (
            "UPDATE idem_record SET result = CAST('{\"id\":\"4111-1111\"}' AS BLOB)",
            "refusal=\"IncompatibleState\"",
            "cause=\"the record of operation `pay` does not decode into `sqlite::payments::Paid` at line 1, \
             column 17; the body did not run:",
        ),
        (
            "UPDATE idem_record SET codec = 9",
            "refusal=\"UnknownState\"",
            "cause=\"the record's codec is 9, which this build does not know\"",
        ),
    ] {
        books.execute(edit).await;
        let (events, _guard) = Events::of_this_thread();
        refused(pay(&books.pool, &key, CENTS).await);
        let fields = [
            "outcome=\"incompatible\"",
            "kind=\"incompatible\"",
            "replayed=false",
            refusal,
        ];
        events.0.lock().expect("no panic").iter().for_each(|event| {
            assert!(event.contains(cause), "{event}");
        });
        events.expect(Level::ERROR, &fields);
    }
}

#[tokio::test]
async fn a_leased_record_that_cannot_be_read_is_not_told_as_a_replay() {
    const SEND: LeasedOperation =
        Operation::new("mail", "send").lease(Duration::from_mins(1), OnLapse::Unknown);
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key(SECRETS[0]).global();
    let send = async || {
        let body = |_| async { Ok::<_, Error>(CENTS) };
        SEND.run(&books.pool, &key, &1, body).await
    };
    send().await.expect("sent");
    books
        .execute("UPDATE idem_record SET result = CAST('\"4111-1111\"' AS BLOB)")
        .await;
    let (events, _guard) = Events::of_this_thread();
    send().await.expect_err("it is no number");
    let fields = [
        "outcome=\"incompatible\"",
        "kind=\"incompatible\"",
        "replayed=false",
        "refusal=\"IncompatibleState\"",
    ];
    events.expect(Level::ERROR, &fields);
}

#[tokio::test]
async fn a_store_out_of_reach_is_a_warning_and_a_store_unfit_an_error() {
    let books = Books::open(JOURNALS[0], 1).await;
    let (events, _guard) = Events::of_this_thread();
    books.execute("DROP TABLE idem_record").await;
    let error = refused(pay(&books.pool, &key(SECRETS[0]), CENTS).await);
    assert!(matches!(error, Error::Schema(_)), "{error:?}");
    let unfit = [
        "outcome=\"refused\"",
        "kind=\"misuse\"",
        "refusal=\"Schema\"",
        "cause=\"table `idem_record`",
    ];
    events.expect(Level::ERROR, &unfit);
    books.pool.close().await;
    let error = refused(pay(&books.pool, &key(SECRETS[0]), CENTS).await);
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    let away = [
        "outcome=\"refused\"",
        "kind=\"unavailable\"",
        "refusal=\"Unavailable\"",
        "cause=\"no connection to the idempotency store (the pool is closed); the body did not run or was rolled \
         back: try again with the same key\"",
    ];
    events.expect(Level::WARN, &away);
}

#[tokio::test]
async fn a_dropped_call_is_told_once() {
    let books = Books::open(JOURNALS[0], 1).await;
    let (events, _guard) = Events::of_this_thread();
    let (key, gate) = (key(SECRETS[0]), Gate::default());
    {
        let call = pay_and(&books.pool, &key, CENTS, async |_| {
            gate.pass().await;
            Ok::<_, PayError>(())
        });
        tokio::select! {
            _ = call => panic!("the gate is closed"),
            () = gate.reached() => {}
        }
    }
    events.expect(
        Level::INFO,
        &["outcome=\"dropped\"", "key=\"", "replayed=false"],
    );
    // A call that was never polled emits no event.
    drop(pay(&books.pool, &key, CENTS));
    assert!(events.0.lock().expect("no panic").is_empty());
}

#[tokio::test]
async fn a_panic_of_the_body_is_told_as_one() {
    let books = Books::open(JOURNALS[0], 1).await;
    let (events, _guard) = Events::of_this_thread();
    let pool = books.pool.clone();
    let call = tokio::spawn(async move {
        const PAY: Operation = Operation::new("payments", "pay");
        let body = async |_: &mut sqlx::SqliteTransaction<'_>| -> Result<(), PayError> {
            panic!("4111-1111")
        };
        PAY.run(&pool, &key(SECRETS[0]), &CENTS, body).await
    });
    assert!(call.await.expect_err("a panic").is_panic());
    events.expect(Level::ERROR, &["outcome=\"panicked\""]);
}
