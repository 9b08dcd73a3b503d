//! Stored values are decoded unchanged, or refused.

use std::time::Duration;

use idem_runtime::policy::{DEFAULT_RETRY_AFTER, MAX_RETRY_AFTER};
use idem_runtime::store::{Outcome, Store};
use idem_runtime::{Error, StoredFailure};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::subject::{Edit, PAY, RETENTION, Subject, begin_run, claim, key, record, store, typed};

pub(crate) async fn results_come_back_byte_for_byte<S: Subject>() {
    let subject = S::fresh().await;
    let mut conn = subject.connect().await;
    let store: Store<Value, Box<RawValue>> = typed();
    let texts = [
        r#""\u0000""#,
        r#"{"a\u0000b":"\u0000\u0001"}"#,
        r#""\ud800""#,
        r#"["\udc00\ud83d"]"#,
        "9007199254740993",
        "0.1000000000000000055511151231257827",
        "1e400",
        "1.0",
        r#"{"b":1,"a":2,"b":3}"#,
        r#"{ "spaced" :  [ ] }"#,
        "null",
        "\"\u{1F980}\"",
    ];
    for (n, text) in texts.iter().enumerate() {
        let result = RawValue::from_string((*text).to_owned()).unwrap();
        record::<S, _, _>(&store, &mut conn, &key(&n.to_string()), &json!(n), &result).await;
    }
    for (n, text) in texts.iter().enumerate() {
        let mut bound = store.in_connection(&mut conn);
        let outcome = bound.begin(&key(&n.to_string()), PAY, &json!(n)).await;
        match outcome.unwrap() {
            Outcome::PriorResult { value } => assert_eq!(value.get(), *text),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn a_failure_comes_back_with_every_character<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    let failure = StoredFailure::new("Odd\0", "a\0b \u{1F980}\u{ffff}")
        .with_cause("\u{1b}[31m")
        .with_data(json!({"\0": [null, 0.1, "\u{2028}"]}));
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key, &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.fail_permanent(claim, &failure).await.unwrap();
    S::commit(&mut conn).await;
    match begin_run(&store, &mut conn, &key, &json!(1)).await {
        Outcome::PriorError { error } => assert_eq!(error, failure),
        other => panic!("{other:?}"),
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Old {
    lines: Vec<Value>,
}

#[derive(Debug, Serialize, Deserialize)]
struct New {
    lines: Vec<Line>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    cents: u64,
}

/// Its JSON equals that of another variant.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Overlapping {
    Partly { id: u8 },
    Wholly { id: u8, rest: u8 },
}

pub(crate) async fn a_result_that_would_not_come_back_is_refused<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, typed::<Value, Overlapping>(), key("k"));
    let mut conn = subject.connect().await;
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key, &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let wholly = Overlapping::Wholly { id: 1, rest: 2 };
    let error = bound.commit(claim, &wholly).await.unwrap_err();
    assert!(matches!(error, Error::NotStorable { .. }), "{error:?}");
    S::rollback(&mut conn).await;
    assert_eq!(subject.count().await, 0);
    record::<S, _, _>(
        &store,
        &mut conn,
        &key,
        &json!(1),
        &Overlapping::Partly { id: 1 },
    )
    .await;
}

pub(crate) async fn a_result_that_drifted_is_incompatible_and_never_fresh<S: Subject>() {
    let (subject, key) = (S::fresh().await, key("k"));
    let mut conn = subject.connect().await;
    let old: Store<Value, Old> = typed();
    let lines = vec![json!({"cents": 1}), json!({"cents": "two"})];
    record::<S, _, _>(&old, &mut conn, &key, &json!(1), &Old { lines }).await;
    let new: Store<Value, New> = old.typed();
    S::begin(&mut conn).await;
    let mut bound = new.in_transaction(&mut conn).unwrap();
    match bound.begin(&key, PAY, &json!(1)).await {
        Err(Error::IncompatibleState {
            operation,
            type_name,
            path,
            ..
        }) => {
            assert_eq!(operation, PAY);
            assert!(type_name.ends_with("New"), "{type_name}");
            assert_eq!(path, "lines[1].cents");
        }
        other => panic!("{other:?}"),
    }
    S::commit(&mut conn).await;
    assert_eq!(subject.count().await, 1);
}

pub(crate) async fn a_result_with_something_behind_it_is_incompatible<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!(1)).await;
    for bytes in [&b"1 2"[..], b"", b"{", b"\xff"] {
        subject.edit("k", Edit::Result(bytes)).await;
        let mut bound = store.in_connection(&mut conn);
        let error = bound.begin(&key, PAY, &json!(1)).await.unwrap_err();
        assert!(
            matches!(error, Error::IncompatibleState { .. }),
            "{bytes:?}: {error:?}"
        );
    }
}

/// Looks the key up inside a transaction and outside; asserts the same refusal of an unknown code.
async fn expect_unknown<S: Subject>(
    store: &Store<Value, Value>,
    conn: &mut S::Conn,
    text: &str,
    expected: (&str, i64),
) {
    for in_transaction in [false, true] {
        if in_transaction {
            S::begin(conn).await;
        }
        let mut bound = store.in_connection(conn);
        match bound.begin(&key(text), PAY, &json!(1)).await {
            Err(Error::UnknownState { what, value }) => assert_eq!((what, value), expected),
            other => panic!("{other:?}"),
        }
        if in_transaction {
            S::rollback(conn).await;
        }
    }
}

pub(crate) async fn a_code_that_no_build_knows_is_an_error_and_never_fresh<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let faults = [
        ("a", Edit::Status(0), ("status", 0)),
        ("b", Edit::Status(9), ("status", 9)),
        ("c", Edit::Codec(2), ("codec", 2)),
        (
            "d",
            Edit::FingerprintVersion(99),
            ("fingerprint version", 99),
        ),
    ];
    for (text, edit, expected) in faults {
        record::<S, _, _>(&store, &mut conn, &key(text), &json!(1), &json!(1)).await;
        subject.edit(text, edit).await;
        expect_unknown::<S>(&store, &mut conn, text, expected).await;
    }
    assert_eq!(subject.count().await, faults.len());
}

pub(crate) async fn an_unknown_status_is_not_expired_either<S: Subject>() {
    let (subject, store) = (S::fresh().await, store().strict_expiry());
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key("k"), &json!(1), &json!(1)).await;
    subject.edit("k", Edit::Status(9)).await;
    subject.age(RETENTION * 2).await;
    expect_unknown::<S>(&store, &mut conn, "k", ("status", 9)).await;
    let mut bound = store.in_connection(&mut conn);
    assert_eq!(bound.purge_expired(10).await.unwrap(), 0);
}

pub(crate) async fn a_lease_is_in_flight_and_an_unknown_outcome_is_not_run<S: Subject>() {
    let (subject, store) = (S::fresh().await, store().strict_expiry());
    let mut conn = subject.connect().await;
    for text in ["live", "unknown"] {
        record::<S, _, _>(&store, &mut conn, &key(text), &json!(1), &json!(1)).await;
    }
    let left = Duration::from_hours(1);
    subject.edit("live", Edit::Lease(3, left)).await;
    subject.edit("unknown", Edit::Lease(4, left)).await;
    match begin_run(&store, &mut conn, &key("live"), &json!(1)).await {
        Outcome::InFlight { retry_after } => {
            assert!(
                retry_after >= DEFAULT_RETRY_AFTER && retry_after <= MAX_RETRY_AFTER,
                "{retry_after:?}"
            );
        }
        other => panic!("{other:?}"),
    }
    let mut bound = store.in_connection(&mut conn);
    let error = bound.begin(&key("unknown"), PAY, &json!(1)).await;
    assert!(
        matches!(error, Err(Error::OutcomeUnknown { .. })),
        "{error:?}"
    );
}
