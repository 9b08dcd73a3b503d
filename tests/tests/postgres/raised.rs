//! The function that raises a record: a record that it shows is the record that a look-up finds, and it is called
//! only if it is the table owner's own.
//!
//! Each test asks by pools of their own names. To the library they lead to databases of which it knows no keys,
//! as in another process.

use std::time::Duration;

use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::store::{Outcome, RawStore};
use idem_runtime::{Error, Failure, IdempotencyKey, Namespace, StoredFailure, idempotent, schema};
use idem_tests::postgres::{Shop, fresh_key};
use serde_json::json;
use sqlx::postgres::PgTransaction;
use sqlx::{AssertSqlSafe, PgPool};
use uuid::Uuid;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SayError {
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error("{0}")]
    No(String),
}

impl Failure for SayError {
    fn to_failure(&self) -> Option<StoredFailure> {
        match self {
            Self::No(text) => Some(StoredFailure::new("No", text.clone())),
            Self::Idempotency(_) => None,
        }
    }

    fn from_failure(failure: StoredFailure) -> Self {
        Self::No(failure.message)
    }
}

/// Answers the text, or fails with it.
#[idempotent(
    namespace = "says",
    failures = "record",
    record_request,
    skip(succeeds)
)]
pub(crate) async fn say(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    text: &str,
    succeeds: bool,
) -> Result<String, SayError> {
    let _ = (tx, key);
    if succeeds {
        Ok(text.to_owned())
    } else {
        Err(SayError::No(text.to_owned()))
    }
}

/// A pool of one connection, which the library knows no keys of.
pub(crate) struct Other {
    pub(crate) pool: PgPool,
    name: String,
}

impl Other {
    pub(crate) fn of(shop: &Shop) -> Self {
        Self::by(shop, &[])
    }

    pub(crate) fn by(shop: &Shop, settings: &[(&str, &str)]) -> Self {
        let name = Uuid::new_v4().to_string();
        let options = shop.database.options().clone();
        let options = options.options([("application_name", &name)]);
        let options = options.options(settings.iter().copied());
        Self {
            pool: shop.pool_by(1, options),
            name,
        }
    }

    /// Returns whether the last call was answered by its first message: nothing but ROLLBACK followed.
    pub(crate) async fn was_raised(&self, shop: &Shop) -> bool {
        let session = format!(
            "FROM pg_stat_activity WHERE application_name = '{}'",
            self.name
        );
        let mut observer = shop.observer().await;
        observer
            .until(&format!("(SELECT state = 'idle' {session})"))
            .await;
        let query = format!("SELECT query {session}");
        let last: String = sqlx::query_scalar(AssertSqlSafe(query))
            .fetch_one(&mut shop.database.connect().await)
            .await
            .expect("there is a session");
        assert!(
            last == "ROLLBACK" || last.contains("EXECUTE idem_look"),
            "{last}"
        );
        last == "ROLLBACK"
    }

    pub(crate) async fn assert_replays(&self, key: &IdempotencyKey, text: &str) {
        let said = say(&self.pool, key, text, false).await;
        let said = said.unwrap_or_else(|error| panic!("{error:?}"));
        assert!(said.replayed() && *said == text);
    }
}

pub(crate) async fn recorded(shop: &Shop, text: &str) -> IdempotencyKey {
    let key = fresh_key();
    let said = say(&shop.pool, &key, text, true).await.expect("fresh");
    assert!(!said.replayed());
    key
}

const TEXTS: [&str; 4] = ["", "plain", "\u{0}\u{e9}\u{1f980}'\\\"$1", ",;-"];

#[tokio::test]
async fn a_raised_record_is_answered_as_one_that_was_looked_up() {
    let shop = Shop::open(1).await;
    for text in TEXTS {
        let key = recorded(&shop, text).await;
        let other = Other::of(&shop);
        other.assert_replays(&key, text).await;
        assert!(other.was_raised(&shop).await, "{text:?}");

        let key = fresh_key();
        let said = say(&shop.pool, &key, text, false).await;
        assert!(matches!(said, Err(SayError::No(_))));
        let other = Other::of(&shop);
        let again = say(&other.pool, &key, text, true).await;
        assert!(matches!(again, Err(SayError::No(said)) if said == text));
        assert!(other.was_raised(&shop).await, "{text:?}");

        let mut mismatches = Vec::new();
        for is_raised in [true, false] {
            let other = Other::of(&shop);
            if !is_raised {
                shop.run("DROP FUNCTION idem_record_found").await;
            }
            let refused = say(&other.pool, &key, "another", true).await;
            let Err(SayError::Idempotency(Error::Mismatch(mismatch))) = refused else {
                panic!("{refused:?}");
            };
            assert!(mismatch.recorded_request.is_some());
            assert_eq!(other.was_raised(&shop).await, is_raised);
            mismatches.push(format!("{mismatch:?}{:?}", mismatch.recorded_request));
        }
        assert_eq!(mismatches[0], mismatches[1]);
        create_function(&shop).await;
    }
}

/// Runs the migration's statement that creates the function.
pub(crate) async fn create_function(shop: &Shop) {
    let (_, text) = schema::postgres()
        .split_once("CREATE OR REPLACE")
        .expect("it creates a function");
    let (text, _) = text.split_once("$found$;").expect("it ends");
    shop.run(&format!("CREATE OR REPLACE{text}$found$")).await;
}

#[tokio::test]
async fn a_lease_in_flight_is_raised_like_any_record() {
    let shop = Shop::open(1).await;
    let store = RawStore::new(Namespace::from_static("says"));
    let lease = Lease::new(Duration::from_mins(5), OnLapse::Unknown).expect("within bounds");
    let key = fresh_key();
    let mut conn = shop.database.connect().await;
    let begun = store
        .in_connection(&mut conn)
        .begin_leased(&key, "say", &json!({"text": "plain"}), lease)
        .await;
    assert!(matches!(begun, Ok(Outcome::Fresh(_))), "{begun:?}");
    let other = Other::of(&shop);
    let refused = say(&other.pool, &key, "plain", true).await;
    assert!(
        matches!(refused, Err(SayError::Idempotency(Error::InFlight { .. }))),
        "{refused:?}"
    );
    assert!(other.was_raised(&shop).await);
}

#[tokio::test]
async fn a_result_above_32_kib_is_looked_up() {
    let shop = Shop::open(1).await;
    for (length, is_raised) in [(32_768, true), (32_769, false), (3_000_000, false)] {
        // Two bytes are quotes.
        let text = "x".repeat(length - 2);
        let key = recorded_without_request(&shop, &text).await;
        let other = Other::of(&shop);
        let again = lengthy(&other.pool, &key, "").await.expect("recorded");
        assert!(again.replayed() && *again == text);
        assert_eq!(other.was_raised(&shop).await, is_raised, "{length}");
    }
}

#[idempotent(namespace = "says", fingerprint = off, result_limit = "4MiB")]
async fn lengthy(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    text: &str,
) -> Result<String, SayError> {
    let _ = (tx, key);
    Ok(text.to_owned())
}

async fn recorded_without_request(shop: &Shop, text: &str) -> IdempotencyKey {
    let key = fresh_key();
    lengthy(&shop.pool, &key, text).await.expect("fresh");
    key
}
