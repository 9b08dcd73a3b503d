//! The plain store beside handlers: it reads and writes their versions, and settles what is unknown.

use idem_runtime::store::{LeaseSession, Outcome, Store};
use idem_runtime::version::Versions;
use idem_runtime::{Error, IdempotencyKey, Namespace};
use serde_json::{Value, json};
use sqlx::{Connection as _, MySqlConnection, PgConnection, SqliteConnection};

use crate::node::{answers, runs};

/// As the handlers of the new build have it.
const VERSIONS: Versions<Value> = Versions::new(2, 1, |older| {
    let old: Value = older.read()?;
    Ok(json!({ "amount": { "cents": old["cents"], "currency": "EUR" }, "note": null }))
});

pub(crate) async fn an_operator_settles_in_the_version_of_the_handler(url: &str) {
    // The effect has happened, and its result could not be recorded.
    runs("careless", url, "leased", "k", 12).await;
    if url.starts_with("sqlite:") {
        settle(
            url,
            &mut SqliteConnection::connect(url).await.expect("the file"),
        )
        .await;
    } else if url.starts_with("mysql:") {
        settle(
            url,
            &mut MySqlConnection::connect(url).await.expect("the server"),
        )
        .await;
    } else {
        settle(
            url,
            &mut PgConnection::connect(url).await.expect("the server"),
        )
        .await;
    }
}

async fn settle<S: LeaseSession>(url: &str, conn: &mut S) {
    let plain = Store::<Value, Value>::new(Namespace::from_static("shop"));
    let store = plain.clone().versions(VERSIONS);
    let key = "k".parse::<IdempotencyKey>().expect("a key").global();
    let mut bound = store.in_connection(conn);
    let unknown = bound
        .look_up(&key)
        .await
        .expect("it is read")
        .expect("unknown");
    let result = json!({ "amount": { "cents": 12, "currency": "USD" }, "note": "by hand" });
    bound
        .resolve_completed(&unknown, &result)
        .await
        .expect("settled");
    let text = result.to_string();
    let again = answers("new", url, "leased", "k", 12).await;
    let again: Value =
        serde_json::from_str(again.strip_prefix("replayed ").expect("replayed")).expect("JSON");
    assert_eq!(again, result, "{text}");
    let old = answers("old", url, "leased", "k", 12).await;
    assert!(old.contains("has version 2 of "), "{old}");

    // The store reads it, and what the old build recorded. A store that knows one version refuses the other.
    runs("old", url, "leased", "one", 7).await;
    let amount = json!({ "amount": 7 });
    let one = "one".parse::<IdempotencyKey>().expect("a key").global();
    match store
        .in_connection(conn)
        .begin(&one, "pay-leased", &amount)
        .await
    {
        Ok(Outcome::PriorResult { value }) => assert_eq!(value["amount"]["cents"], 7),
        other => panic!("{other:?}"),
    }
    let asked = json!({ "amount": 12 });
    match plain
        .in_connection(conn)
        .begin(&key, "pay-leased", &asked)
        .await
    {
        Err(
            error @ Error::IncompatibleState {
                version: Some(version),
                ..
            },
        ) => {
            assert_eq!(
                (version.recorded, version.oldest, version.newest),
                (2, 1, 1)
            );
            assert!(error.is_retryable(), "{error:?}");
        }
        other => panic!("{other:?}"),
    }
    let record = store
        .in_connection(conn)
        .get(&key)
        .await
        .expect("read")
        .expect("there");
    assert_eq!(record.payload_version(), Some(2));
    assert!(record.result.expect("completed").starts_with(b"v2 {"));
}
