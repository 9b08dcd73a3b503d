//! The committed result equals every replay, or nothing is committed.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;

use idem_runtime::policy::RecordFailures;
use idem_runtime::{Error, Failure, IdempotencyKey, Operation, StoredFailure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::payments::{Books, JOURNALS, PayError, insert, key, refused};

const PAY: Operation = Operation::new("payments", "pay");
const TRY: Operation<RecordFailures> = Operation::new("payments", "pay").record_failures();

/// Pays and returns this value.
async fn answer<T>(books: &Books, key: &IdempotencyKey, result: T) -> Result<T, PayError>
where
    T: Serialize + DeserializeOwned,
{
    let body = async |tx: &mut sqlx::SqliteTransaction<'_>| {
        insert(tx, key, 5).await?;
        Ok::<_, PayError>(result)
    };
    let answered = PAY.run(&books.pool, key, &5, body).await?;
    Ok(answered.into_inner())
}

async fn expect_refusal<T: Serialize + DeserializeOwned + Debug>(result: T, reason: &str) {
    let (books, key) = (Books::open(JOURNALS[0], 1).await, key("a"));
    let error = refused(answer(&books, &key, result).await);
    let Error::NotStorable { message, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(message.contains(reason), "{message}");
    assert_eq!(books.count(&key).await, (0, 0));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Quote {
    rate: f64,
    limit: Option<f64>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Secretive {
    id: u8,
    #[serde(skip_serializing)]
    token: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Forgetful {
    #[serde(skip_serializing_if = "String::is_empty", default = "unnamed")]
    name: String,
    #[serde(skip_deserializing, default)]
    note: String,
}

fn unnamed() -> String {
    "unnamed".to_owned()
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Overlapping {
    Partly { id: u8 },
    Wholly { id: u8, rest: u8 },
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_would_not_come_back_is_refused_and_rolled_back() {
    for rate in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let limit = None;
        expect_refusal(Quote { rate, limit }, "not a number").await;
        let quote = Quote {
            rate: 1.0,
            limit: Some(rate),
        };
        expect_refusal(vec![quote], "not a number").await;
    }
    expect_refusal([None, Some(f32::NAN)], "not a number").await;
    let token = "t".to_owned();
    expect_refusal(Secretive { id: 1, token }, "missing field `token`").await;
    for (name, note) in [("Ada", "lost"), ("", "")] {
        let (name, note) = (name.to_owned(), note.to_owned());
        expect_refusal(
            Forgetful { name, note },
            "decodes from its JSON to a different value",
        )
        .await;
    }
    expect_refusal(
        Overlapping::Wholly { id: 1, rest: 2 },
        "decodes from its JSON to a different value",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_order_of_its_own_may_come_back_in_another() {
    let (books, key) = (Books::open(JOURNALS[0], 1).await, key("a"));
    let names = || (0..50).map(|n| format!("n{n}"));
    let result: (HashMap<String, HashSet<String>>, Vec<HashSet<String>>) = (
        names().map(|name| (name, names().collect())).collect(),
        vec![names().collect(), names().take(3).collect()],
    );
    for _ in 0..2 {
        let answered = answer(&books, &key, result.clone()).await.expect("stored");
        assert_eq!(answered, result);
    }
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_looks_odd_and_comes_back_is_stored() {
    let (books, key) = (Books::open(JOURNALS[0], 1).await, key("a"));
    let quote = Quote {
        rate: 0.1 + 0.2,
        limit: None,
    };
    for _ in 0..2 {
        let answered = answer(&books, &key, quote.clone()).await.expect("stored");
        assert_eq!(answered, quote);
    }
}

#[derive(Debug, thiserror::Error, Failure)]
enum Trouble {
    #[error("{0:?} stands in the way")]
    #[failure(permanent)]
    Obstacle(Overlapping),
    #[error("any of {0:?}")]
    #[failure(permanent)]
    Any(HashSet<u8>),
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

async fn fail(books: &Books, key: &IdempotencyKey, trouble: Trouble) -> Trouble {
    let body = async |tx: &mut sqlx::SqliteTransaction<'_>| {
        insert(tx, key, 5).await?;
        Err::<(), _>(trouble)
    };
    let failed = TRY.run(&books.pool, key, &5, body).await;
    failed.expect_err("the body fails")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_would_be_built_again_as_another_is_refused() {
    let (books, key) = (Books::open(JOURNALS[0], 1).await, key("a"));
    let wholly = Overlapping::Wholly { id: 1, rest: 2 };
    let error = fail(&books, &key, Trouble::Obstacle(wholly)).await;
    let Trouble::Idempotency(Error::NotStorable { message, .. }) = &error else {
        panic!("{error:?}");
    };
    assert!(message.contains("class `Obstacle`"), "{message}");
    assert_eq!(books.count(&key).await, (0, 0));
    for _ in 0..2 {
        let partly = Overlapping::Partly { id: 1 };
        let error = fail(&books, &key, Trouble::Obstacle(partly)).await;
        assert!(matches!(error, Trouble::Obstacle(_)), "{error:?}");
    }
    assert_eq!(books.count(&key).await, (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_may_hold_a_set() {
    let (books, key) = (Books::open(JOURNALS[0], 1).await, key("a"));
    for _ in 0..2 {
        let error = fail(&books, &key, Trouble::Any((0..50).collect())).await;
        assert!(
            matches!(&error, Trouble::Any(all) if all.len() == 50),
            "{error:?}"
        );
    }
    assert_eq!(books.count(&key).await, (0, 1));
}
