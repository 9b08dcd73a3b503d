//! The sources of the key and its scope.

use std::fmt;

use idem_runtime::{Error, IdempotencyKey, Scope, idempotent};
use serde::Serialize;
use sqlx::sqlite::SqliteTransaction;

use crate::payments::{Books, JOURNALS, Paid, PayError, insert, key, pay, refused};

#[derive(Debug, Clone, Copy, Serialize)]
struct Order<'a> {
    request_id: &'a str,
    tenant: &'a str,
    number: u32,
    cents: i64,
}

const ORDER: Order<'static> = Order {
    request_id: "r-1",
    tenant: "acme",
    number: 17,
    cents: 5,
};

async fn effects(books: &Books) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM payment")
        .fetch_one(&books.pool)
        .await
        .expect("the table can be read")
}

#[idempotent(namespace = "payments", key = order.request_id, scope = order.tenant)]
async fn by_request(tx: &mut SqliteTransaction<'_>, order: Order<'_>) -> Result<Paid, PayError> {
    Ok(insert(tx, &key("any"), order.cents).await?)
}

#[tokio::test]
async fn a_key_inside_the_request_counts_within_its_scope() {
    let books = Books::open(JOURNALS[0], 1).await;
    let other = Order {
        tenant: "umbrella",
        ..ORDER
    };
    for replayed in [false, true] {
        for order in [ORDER, other] {
            let paid = by_request(&books.pool, order).await.expect("paid");
            assert_eq!(paid.replayed(), replayed);
        }
    }
    assert_eq!(effects(&books).await, 2);
    let changed = Order { cents: 6, ..ORDER };
    let error = refused(by_request(&books.pool, changed).await);
    assert!(matches!(error, Error::Mismatch(_)), "{error:?}");
}

#[tokio::test]
async fn a_bad_key_or_scope_inside_the_request_is_refused_and_nothing_is_written() {
    let books = Books::open(JOURNALS[0], 1).await;
    let blank = Order {
        request_id: " ",
        ..ORDER
    };
    let long = "x".repeat(256);
    let nobody = Order {
        tenant: &long,
        ..ORDER
    };
    for order in [blank, nobody] {
        let error = refused(by_request(&books.pool, order).await);
        assert!(matches!(error, Error::Invalid(_)), "{error:?}");
    }
    assert_eq!(effects(&books).await, 0);
}

#[idempotent(namespace = "payments", key = natural(order.tenant, order.number))]
async fn by_nature(tx: &mut SqliteTransaction<'_>, order: Order<'_>) -> Result<Paid, PayError> {
    Ok(insert(tx, &key("any"), order.cents).await?)
}

#[tokio::test]
async fn a_natural_key_is_what_names_the_effect() {
    let books = Books::open(JOURNALS[0], 1).await;
    let next = Order {
        number: 18,
        ..ORDER
    };
    for replayed in [false, true] {
        for order in [ORDER, next] {
            let paid = by_nature(&books.pool, order).await.expect("paid");
            assert_eq!(paid.replayed(), replayed);
        }
    }
    assert_eq!(effects(&books).await, 2);
}

/// Written as less than it is.
#[derive(Clone, Copy, Serialize)]
struct Payee {
    name: &'static str,
    account: u64,
}

impl fmt::Display for Payee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[idempotent(namespace = "payments", key = natural(payee), skip(cents))]
async fn by_payee(
    tx: &mut SqliteTransaction<'_>,
    payee: Payee,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, &key("any"), cents).await?)
}

#[tokio::test]
async fn parts_of_a_natural_key_that_are_written_alike_are_compared() {
    let books = Books::open(JOURNALS[0], 1).await;
    let [ada, another] = [1, 2].map(|account| Payee {
        name: "Ada",
        account,
    });
    by_payee(&books.pool, ada, 5).await.expect("paid");
    assert!(
        by_payee(&books.pool, ada, 5)
            .await
            .expect("a replay")
            .replayed()
    );
    let error = refused(by_payee(&books.pool, another, 5).await);
    assert!(matches!(error, Error::Mismatch(_)), "{error:?}");
    assert_eq!(effects(&books).await, 1);
}

#[tokio::test]
async fn one_text_in_two_scopes_is_two_keys() {
    let books = Books::open(JOURNALS[0], 1).await;
    let text: IdempotencyKey = "a".parse().expect("a good key");
    for tenant in ["acme", "umbrella"] {
        let key = text
            .clone()
            .scoped(Scope::new(tenant).expect("a good scope"));
        assert!(!pay(&books.pool, &key, 5).await.expect("paid").replayed());
        assert!(
            pay(&books.pool, &key, 5)
                .await
                .expect("a replay")
                .replayed()
        );
    }
    let error = refused(pay(&books.pool, &text, 5).await);
    assert!(matches!(error, Error::ScopeMissing { .. }), "{error:?}");
    assert_eq!(books.count(&text).await, (2, 2));
}

#[tokio::test]
async fn keys_differ_by_case_and_by_inner_space() {
    let books = Books::open(JOURNALS[0], 1).await;
    for text in ["req-a", "Req-A", "req a", "req  a", "\u{e9}", "e\u{301}"] {
        assert!(
            !pay(&books.pool, &key(text), 5)
                .await
                .expect("paid")
                .replayed()
        );
        assert_eq!(books.count(&key(text)).await, (1, 1));
    }
}

#[idempotent(namespace = "payments", operation = "pay", key_required = false)]
async fn pay_with_or_without(
    tx: &mut SqliteTransaction<'_>,
    key: Option<IdempotencyKey>,
    cents: i64,
) -> Result<Paid, PayError> {
    let name = self::key("without");
    Ok(insert(tx, key.as_ref().unwrap_or(&name), cents).await?)
}

#[idempotent(namespace = "payments")]
async fn pay_only_with(
    tx: &mut SqliteTransaction<'_>,
    key: Option<IdempotencyKey>,
    cents: i64,
) -> Result<Paid, PayError> {
    let name = self::key("without");
    Ok(insert(tx, key.as_ref().unwrap_or(&name), cents).await?)
}

#[tokio::test]
async fn a_call_without_a_key_runs_each_time_if_it_may() {
    let books = Books::open(JOURNALS[0], 1).await;
    for effects in 1..=2 {
        let paid = pay_with_or_without(&books.pool, None, 5)
            .await
            .expect("paid");
        assert!(!paid.replayed());
        assert_eq!(books.count(&key("without")).await, (effects, 0));
    }
    for replayed in [false, true] {
        let paid = pay_with_or_without(&books.pool, Some(key("a")), 5).await;
        assert_eq!(paid.expect("paid").replayed(), replayed);
    }
    assert_eq!(books.count(&key("a")).await, (1, 1));
    // Also in the caller's transaction, and rolled back with it.
    let mut tx = books.pool.begin().await.expect("a transaction");
    pay_with_or_without(&mut tx, None, 5).await.expect("paid");
    tx.rollback().await.expect("rolled back");
    assert_eq!(books.count(&key("without")).await, (2, 0));
}

#[tokio::test]
async fn a_missing_key_is_refused_where_one_is_required() {
    let books = Books::open(JOURNALS[0], 1).await;
    let error = refused(pay_only_with(&books.pool, None, 5).await);
    assert!(matches!(error, Error::KeyMissing { .. }), "{error:?}");
    assert_eq!(books.count(&key("without")).await, (0, 0));
}
