//! The identity of a record.

use idem_runtime::error::{Field, Reason};
use idem_runtime::key::limits::{KEY_MAX, NAMESPACE_MAX, OPERATION_MAX, SCOPE_MAX};
use idem_runtime::store::{Outcome, Store};
use idem_runtime::{Error, IdempotencyKey, Namespace, Scope};
use serde_json::json;

use crate::subject::{Subject, claim, expect_replay, key, record, store};

/// Four bytes in UTF-8.
const WIDE: &str = "\u{1F980}";

pub(crate) async fn keys_are_compared_byte_for_byte<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let texts = [
        "Req-A",
        "req-a",
        "k",
        "k x",
        "k\u{a0}x",
        "a b",
        "a  b",
        "1",
        "1.0",
        "01",
        "e",
        "\u{e9}",
        "e\u{301}",
        "\u{c9}",
        "stra\u{df}e",
        "strasse",
        "STRASSE",
        "\u{131}",
        "i",
        "I",
        "%",
        "_",
        "a'b",
        "a\"b",
        "a\\b",
        "\u{200b}k",
        "\u{ff4b}",
    ];
    for (n, text) in texts.iter().enumerate() {
        record::<S, _, _>(&store, &mut conn, &key(text), &json!(1), &json!(n)).await;
    }
    for (n, text) in texts.iter().enumerate() {
        expect_replay(&store, &mut conn, &key(text), &json!(1), &json!(n)).await;
    }
    assert_eq!(subject.count().await, texts.len());
}

pub(crate) async fn scopes_and_namespaces_are_apart<S: Subject>() {
    let subject = S::fresh().await;
    let mut conn = subject.connect().await;
    let scope = |text: &str| Scope::new(text).unwrap();
    let places = [
        ("n", Scope::GLOBAL, "k"),
        ("m", Scope::GLOBAL, "k"),
        ("n", scope("a"), "k"),
        ("n", scope("A"), "k"),
        ("n", scope("a "), "k"),
        ("m", scope("a"), "k"),
        ("n", scope("ab"), "c"),
        ("n", scope("a"), "bc"),
        ("na", scope("b"), "c"),
    ];
    let resolve = |(namespace, scope, text): &(&str, Scope, &str)| {
        let key = text
            .parse::<IdempotencyKey>()
            .unwrap()
            .scoped(scope.clone());
        (Store::new(Namespace::new(*namespace).unwrap()), key)
    };
    for (n, at) in places.iter().enumerate() {
        let (store, key) = resolve(at);
        record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!(n)).await;
    }
    for (n, at) in places.iter().enumerate() {
        let (store, key) = resolve(at);
        expect_replay(&store, &mut conn, &key, &json!(1), &json!(n)).await;
    }
}

pub(crate) async fn the_longest_names_are_stored_and_found<S: Subject>() {
    let subject = S::fresh().await;
    let mut conn = subject.connect().await;
    let store = Store::new(Namespace::new("n".repeat(NAMESPACE_MAX)).unwrap());
    let key = WIDE.repeat(KEY_MAX).parse::<IdempotencyKey>().unwrap();
    let key = key.scoped(Scope::new(WIDE.repeat(SCOPE_MAX)).unwrap());
    let operation = WIDE.repeat(OPERATION_MAX);
    S::begin(&mut conn).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let Outcome::Fresh(claim) = bound.begin(&key, &operation, &json!(1)).await.unwrap() else {
        panic!("nobody has used it")
    };
    bound.commit(claim, &json!("done")).await.unwrap();
    S::commit(&mut conn).await;
    let mut bound = store.in_connection(&mut conn);
    match bound.begin(&key, &operation, &json!(1)).await.unwrap() {
        Outcome::PriorResult { value } => assert_eq!(value, json!("done")),
        other => panic!("{other:?}"),
    }
    let found = bound.get(&key).await.unwrap().unwrap();
    assert_eq!(found.operation, operation);
}

fn too_long(refused: &Error, field: &Field, limit: usize) {
    let Error::Invalid(invalid) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(invalid.field(), field);
    let length = limit + 1;
    assert_eq!(invalid.reason(), &Reason::TooLong { limit, length });
}

pub(crate) async fn one_character_more_is_refused_with_field_and_limit<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let refused = Namespace::new("n".repeat(NAMESPACE_MAX + 1)).unwrap_err();
    too_long(&refused, &Field::Namespace, NAMESPACE_MAX);
    let refused = Scope::new(WIDE.repeat(SCOPE_MAX + 1)).unwrap_err();
    too_long(&refused, &Field::Scope, SCOPE_MAX);
    let refused = IdempotencyKey::parse(Some(&WIDE.repeat(KEY_MAX + 1))).unwrap_err();
    too_long(&refused, &Field::Key, KEY_MAX);

    S::begin(&mut conn).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let operation = WIDE.repeat(OPERATION_MAX + 1);
    match bound.begin(&key("k"), &operation, &json!(1)).await {
        Err(refused) => too_long(&refused, &Field::Operation, OPERATION_MAX),
        other => panic!("{other:?}"),
    }
    S::commit(&mut conn).await;
    assert_eq!(subject.count().await, 0);
}

pub(crate) async fn a_name_is_not_blank_and_has_no_control_characters<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    S::begin(&mut conn).await;
    for operation in ["", " ", "a\0b", "a\nb", "\u{85}"] {
        let mut bound = store.in_transaction(&mut conn).unwrap();
        match bound.begin(&key("k"), operation, &json!(1)).await {
            Err(Error::Invalid(refused)) => assert_eq!(refused.field(), &Field::Operation),
            other => panic!("{operation:?}: {other:?}"),
        }
        assert!(IdempotencyKey::parse(Some(operation)).is_err());
        assert!(Scope::new(operation).is_err());
    }
    // None of these keys was claimed.
    let claim = claim(&store, &mut conn, &key("k"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.commit(claim, &json!("done")).await.unwrap();
    S::commit(&mut conn).await;
    assert_eq!(subject.count().await, 1);
}
