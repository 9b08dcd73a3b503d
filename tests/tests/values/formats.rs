//! The formats of every public type that may hold a key, a scope, a request, a result or a failure.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use idem_runtime::error::{DatabaseError, Field, Invalid, Reason, SchemaFault};
use idem_runtime::fingerprint::canonical_json;
use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::store::{Outcome, Store, StoreLease};
use idem_runtime::{Attempt, Error, IdempotencyKey, Namespace, Operation, Scope, StoredFailure};
use serde::{Deserialize, Serialize, Serializer};
use sqlx::{SqliteConnection, SqliteTransaction};

use crate::fixture::{Fixture, Sqlite};
use crate::secrets::{
    KEY, REQUEST, RESULT, SCOPE, expect_none_in, expect_none_shown_by, expect_none_told_by, key,
};
use crate::stored::CallError;

const PAY: Operation = Operation::new("values", "pay").record_request();
const LEASE: Duration = Duration::from_mins(5);

fn secrets() -> String {
    format!("{KEY} {SCOPE} {REQUEST} {RESULT}")
}

fn failure() -> StoredFailure {
    StoredFailure::new("Declined", secrets())
        .with_cause(secrets())
        .with_data(serde_json::json!({ KEY: REQUEST, SCOPE: RESULT }))
}

/// Returns one of each of the driver's errors that contains text.
fn driver_errors() -> Vec<sqlx::Error> {
    use sqlx::Error::{
        ColumnDecode, ColumnNotFound, Configuration, Decode, Encode, InvalidArgument, Io, Protocol,
        Tls, TypeNotFound,
    };
    vec![
        Configuration(secrets().into()),
        InvalidArgument(secrets()),
        Io(io::Error::other(secrets())),
        Tls(secrets().into()),
        Protocol(secrets()),
        TypeNotFound {
            type_name: secrets(),
        },
        ColumnNotFound(secrets()),
        ColumnDecode {
            index: secrets(),
            source: secrets().into(),
        },
        Encode(secrets().into()),
        Decode(secrets().into()),
    ]
}

#[test]
fn keys_and_scopes_are_shown_by_their_hashes() {
    let key = key();
    expect_none_shown_by(&key);
    expect_none_shown_by(&key.child(RESULT).expect("a label"));
    expect_none_shown_by(&KEY.parse::<IdempotencyKey>().expect("a key"));
    expect_none_shown_by(&Scope::new(SCOPE).expect("a scope"));
    expect_none_shown_by(&IdempotencyKey::derive([KEY, RESULT]).expect("parts"));
}

struct Refusing;

impl Serialize for Refusing {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(secrets()))
    }
}

fn invalid(error: Error) -> Invalid {
    match error {
        Error::Invalid(invalid) => invalid,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_invalid_input_is_not_shown() {
    let mut refused: Vec<Invalid> = [Reason::Number, Reason::Duplicate, Reason::Serialize]
        .map(|reason| Invalid::new(Field::Request, reason(secrets())))
        .into();
    refused.push(canonical_json(&Refusing).expect_err("it refuses"));
    let control = format!("{KEY}\n{RESULT}").parse::<IdempotencyKey>();
    refused.push(invalid(control.expect_err("a control")));
    let long = KEY.repeat(100).parse::<IdempotencyKey>();
    refused.push(invalid(long.expect_err("too long")));
    let scope = Scope::new(format!("{SCOPE}\0"));
    refused.push(invalid(scope.expect_err("a control")));
    for invalid in refused {
        expect_none_shown_by(&invalid);
        expect_none_shown_by(invalid.reason());
        expect_none_in(&invalid.to_string());
        expect_none_in(&invalid.reason().to_string());
        expect_none_told_by(&Error::Invalid(invalid));
    }
}

#[test]
fn no_error_shows_what_its_fields_hold() {
    expect_none_shown_by(&failure());
    let (operation, type_name, message) = ("pay".to_owned(), "shop::Paid", secrets());
    let errors = [
        Error::RecordedFailure(Box::new(failure())),
        Error::IncompatibleState {
            operation: operation.clone(),
            type_name,
            path: secrets(),
            version: None,
            message: message.clone(),
        },
        Error::NotStorable {
            operation,
            type_name,
            reason: "it does not decode from its own JSON",
            message,
        },
        Error::InFlight {
            retry_after: Duration::from_secs(1),
            key: Some(KEY.into()),
        },
        Error::Schema(SchemaFault::TableMissing {
            table: "idem_record".to_owned(),
        }),
    ];
    errors.iter().for_each(expect_none_told_by);
    for wrap in [
        Error::TransactionLost,
        Error::CommitFailed,
        Error::CommitUnknown,
        Error::Busy,
        Error::ReadOnly,
        Error::Unavailable,
        Error::Database,
    ] {
        for driver in driver_errors() {
            let error = DatabaseError::from(driver);
            expect_none_shown_by(&error);
            expect_none_in(&error.to_string());
            assert!(error.source().is_none());
            // The whole text is available explicitly.
            assert!(format!("{:?}", error.as_sqlx()).contains(KEY));
            expect_none_told_by(&wrap(error));
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Card {
    number: String,
    cents: i64,
}

fn card(cents: i64) -> Card {
    let number = RESULT.to_owned();
    Card { number, cents }
}

#[tokio::test]
async fn a_handlers_answers_and_its_attempt_show_nothing() {
    let fixture = Sqlite::open().await;
    let pool = fixture.pool();
    let body = async |_: &mut SqliteTransaction<'_>| Ok::<_, CallError>(secrets());
    for _ in 0..2 {
        let answer = PAY.run(&pool, &key(), &REQUEST, body).await.expect("paid");
        expect_none_shown_by(&answer);
        expect_none_shown_by(&answer.as_ref());
        expect_none_shown_by(&answer.map(Some));
    }
    let refused = PAY.run(&pool, &key(), &secrets(), body).await;
    let refusal = refused.expect_err("another request").refusal();
    let Error::Mismatch(mismatch) = &refusal else {
        panic!("no mismatch: {refusal:?}");
    };
    assert!(mismatch.recorded_request.is_some());
    expect_none_shown_by(mismatch);
    expect_none_in(&mismatch.to_string());
    expect_none_told_by(&refusal);
    let leased = PAY.lease(LEASE, OnLapse::Unknown);
    let by = key().child("leased").expect("a label");
    let body = async |attempt: Attempt| {
        expect_none_shown_by(&attempt);
        Ok::<_, CallError>(RESULT.to_owned())
    };
    let answer = leased.run(&pool, &by, &REQUEST, body).await;
    expect_none_shown_by(&answer.expect("paid"));
}

#[tokio::test]
async fn a_stores_answers_show_nothing() {
    let fixture = Sqlite::open().await;
    let pool = fixture.pool();
    let store = Store::<Card, Card>::new(Namespace::from_static("values")).record_request();
    let mut tx = pool.begin().await.expect("begun");
    for (label, fails) in [("paid", false), ("declined", true)] {
        let key = key().child(label).expect("a label");
        let mut bound = store.in_transaction(&mut *tx).expect("one is open");
        expect_none_shown_by(&bound);
        let outcome = bound
            .begin(&key, "pay", &card(REQUEST))
            .await
            .expect("fresh");
        expect_none_shown_by(&outcome);
        let Outcome::Fresh(claim) = outcome else {
            panic!("not fresh");
        };
        expect_none_shown_by(&claim);
        if fails {
            bound
                .fail_permanent(claim, &failure())
                .await
                .expect("recorded");
        } else {
            bound.commit(claim, &card(REQUEST)).await.expect("recorded");
        }
        for cents in [REQUEST, 1] {
            let outcome = bound
                .begin(&key, "pay", &card(cents))
                .await
                .expect("an answer");
            expect_none_shown_by(&outcome);
            match outcome {
                Outcome::Mismatch(mismatch) => expect_none_shown_by(&mismatch),
                Outcome::PriorError { error } => expect_none_shown_by(&error),
                Outcome::PriorResult { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        expect_none_shown_by(&bound.get(&key).await.expect("read").expect("a record"));
    }
    tx.commit().await.expect("committed");
    let mut conn = pool.acquire().await.expect("a connection");
    let lease = leave_unknown(&store, &mut conn).await;
    expect_none_shown_by(&lease);
    let mut bound = store.in_connection(&mut *conn);
    let unknown = bound.look_up(&key()).await.expect("read").expect("unknown");
    assert!(unknown.request().is_some());
    expect_none_shown_by(&unknown);
    expect_none_shown_by(&store);
}

async fn leave_unknown(store: &Store<Card, Card>, conn: &mut SqliteConnection) -> StoreLease {
    let mut bound = store.in_connection(conn);
    let lease_policy = Lease::new(LEASE, OnLapse::Unknown).expect("within bounds");
    let asked = bound
        .begin_leased(&key(), "pay", &card(REQUEST), lease_policy)
        .await;
    let Ok(Outcome::Fresh(lease)) = asked else {
        panic!("no lease");
    };
    bound.leave_unknown(&lease).await.expect("left");
    lease
}
