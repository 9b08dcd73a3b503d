//! Which handlers are one operation and which are two (names, receivers, type parameters), and
//! which inputs of a call without a key are ignored.

use std::borrow::Cow;

use idem_runtime::error::{Field, Reason};
use idem_runtime::{Error, IdempotencyKey, idempotent};
use serde::Serialize;
use sqlx::sqlite::SqliteTransaction;

use crate::payments::{Books, JOURNALS, Paid, PayError, insert, key, refused};

struct Orders;

struct Invoices;

impl Orders {
    #[idempotent(namespace = "shop", operation = "order.create", skip(self))]
    async fn create(
        &self,
        tx: &mut SqliteTransaction<'_>,
        key: &IdempotencyKey,
        cents: i64,
    ) -> Result<Paid, PayError> {
        Ok(insert(tx, key, cents).await?)
    }
}

impl Invoices {
    #[idempotent(namespace = "shop", operation = "invoice.create", skip(self))]
    async fn create(
        &self,
        tx: &mut SqliteTransaction<'_>,
        key: &IdempotencyKey,
        cents: i64,
    ) -> Result<Paid, PayError> {
        Ok(insert(tx, key, cents).await?)
    }
}

#[tokio::test]
async fn two_methods_of_one_name_are_two_operations() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key("a");
    let order = Orders.create(&books.pool, &key, 5).await.expect("created");
    assert!(!order.replayed());
    let refusal = refused(Invoices.create(&books.pool, &key, 5).await);
    assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
    assert_eq!(books.count(&key).await, (1, 1));
}

struct Account {
    id: i64,
}

impl Account {
    #[idempotent(namespace = "bank", operation = "account.close", fingerprint = (self.id,))]
    async fn close(
        &self,
        tx: &mut SqliteTransaction<'_>,
        key: &IdempotencyKey,
    ) -> Result<Paid, PayError> {
        Ok(insert(tx, key, self.id).await?)
    }
}

#[tokio::test]
async fn a_receiver_that_is_compared_tells_two_requests_apart() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key("a");
    for replayed in [false, true] {
        let closed = Account { id: 1 }.close(&books.pool, &key).await;
        assert_eq!(closed.expect("closed").replayed(), replayed);
    }
    let refusal = refused(Account { id: 2 }.close(&books.pool, &key).await);
    assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
    assert_eq!(books.count(&key).await, (1, 1));
}

#[idempotent(namespace = "imports", operation = std::any::type_name::<T>())]
async fn import<T>(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    rows: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, rows).await?)
}

#[tokio::test]
async fn a_type_parameter_in_its_name_makes_an_operation_of_each_type() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key("a");
    for replayed in [false, true] {
        let imported = import::<i32>(&books.pool, &key, 5).await.expect("imported");
        assert_eq!(imported.replayed(), replayed);
    }
    let refusal = refused(import::<String>(&books.pool, &key, 5).await);
    assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
    let recorded: String = sqlx::query_scalar("SELECT operation FROM idem_record")
        .fetch_one(&books.pool)
        .await
        .expect("one record");
    assert_eq!(recorded, "i32");
}

#[idempotent(namespace = "imports", operation = name, skip(name))]
async fn named(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    name: &str,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

#[tokio::test]
async fn a_name_that_only_the_call_knows_obeys_the_rule_of_names_or_nothing_runs() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key("a");
    let long = "n".repeat(256);
    let too_long = Reason::TooLong {
        limit: 255,
        length: 256,
    };
    for (name, reason) in [(long.as_str(), too_long), (" ", Reason::Empty)] {
        let refusal = refused(named(&books.pool, &key, name, 5).await);
        let Error::Invalid(invalid) = refusal else {
            panic!("{refusal:?}");
        };
        assert_eq!(
            (invalid.field(), invalid.reason()),
            (&Field::Operation, &reason)
        );
        assert_eq!(books.count(&key).await, (0, 0));
    }
    let longest = "n".repeat(255);
    named(&books.pool, &key, &longest, 5)
        .await
        .expect("it fits");
    assert_eq!(books.count(&key).await, (1, 1));
}

#[derive(Serialize)]
struct Measured {
    by: f64,
}

#[idempotent(
    namespace = "payments",
    key_required = false,
    operation = name,
    scope = scope,
    skip(name, scope)
)]
async fn optional(
    tx: &mut SqliteTransaction<'_>,
    key: Option<IdempotencyKey>,
    measured: &Measured,
    name: Cow<'_, str>,
    scope: &str,
) -> Result<Paid, PayError> {
    let name = self::key("without");
    Ok(insert(tx, key.as_ref().unwrap_or(&name), 5).await?)
}

#[idempotent(namespace = "payments", key_required = false, fingerprint = measured.by)]
async fn projected(
    tx: &mut SqliteTransaction<'_>,
    key: Option<IdempotencyKey>,
    measured: &Measured,
) -> Result<Paid, PayError> {
    let name = self::key("without");
    Ok(insert(tx, key.as_ref().unwrap_or(&name), 5).await?)
}

#[tokio::test]
async fn a_call_without_a_key_is_not_refused_for_what_is_not_compared() {
    let books = Books::open(JOURNALS[0], 1).await;
    let nowhere = Measured { by: f64::NAN };
    optional(&books.pool, None, &nowhere, " ".into(), " ")
        .await
        .expect("nothing is compared, named or scoped");
    projected(&books.pool, None, &nowhere)
        .await
        .expect("nothing is compared");
    assert_eq!(books.count(&key("without")).await, (2, 0));

    let refusals = [
        refused(optional(&books.pool, Some(key("a")), &nowhere, "o".into(), "s").await),
        refused(projected(&books.pool, Some(key("a")), &nowhere).await),
        refused(
            optional(
                &books.pool,
                Some(key("a")),
                &Measured { by: 1.0 },
                " ".into(),
                "s",
            )
            .await,
        ),
        refused(
            optional(
                &books.pool,
                Some(key("a")),
                &Measured { by: 1.0 },
                "o".into(),
                " ",
            )
            .await,
        ),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Error::Invalid(_)), "{refusal:?}");
    }
    assert_eq!(books.count(&key("a")).await, (0, 0));
}
