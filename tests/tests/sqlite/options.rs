//! The options for comparing, storing and placing records.

use idem_runtime::{Error, IdempotencyKey, idempotent, schema};
use sqlx::sqlite::SqliteTransaction;

use crate::payments::{Books, JOURNALS, Paid, PayError, insert, key, pay, refused};

async fn mismatch_of(books: &Books, text: &str) -> Box<idem_runtime::error::Mismatch> {
    let error = refused(pay_kept(&books.pool, &key(text), 6).await);
    let Error::Mismatch(mismatch) = error else {
        panic!("{error:?}");
    };
    mismatch
}

#[idempotent(namespace = "payments", operation = "pay", record_request)]
async fn pay_kept(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

#[tokio::test]
async fn a_request_is_kept_only_if_the_operation_says_so() {
    let books = Books::open(JOURNALS[0], 1).await;
    pay_kept(&books.pool, &key("kept"), 5).await.expect("paid");
    pay(&books.pool, &key("hashed"), 5).await.expect("paid");
    let kept = mismatch_of(&books, "kept").await;
    assert_eq!(
        kept.recorded_request.as_deref(),
        Some(&br#"{"cents":5}"#[..])
    );
    let hashed = mismatch_of(&books, "hashed").await;
    assert_eq!(hashed.recorded_request, None);
    assert_eq!(hashed.recorded_hash, kept.recorded_hash);
    assert_ne!(hashed.recorded_hash, hashed.submitted_hash);
}

#[idempotent(namespace = "payments")]
async fn refund(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, -cents).await?)
}

#[tokio::test]
async fn a_key_of_another_operation_is_refused() {
    let books = Books::open(JOURNALS[0], 1).await;
    pay(&books.pool, &key("a"), 5).await.expect("paid");
    let error = refused(refund(&books.pool, &key("a"), 5).await);
    let Error::Mismatch(mismatch) = error else {
        panic!("{error:?}");
    };
    assert_eq!(mismatch.recorded_operation, "pay");
    assert_eq!(mismatch.submitted_operation, "refund");
    assert_eq!(books.count(&key("a")).await, (1, 1));
}

/// Not `Serialize`, and different at each call.
struct Trace(u32);

#[idempotent(namespace = "payments", operation = "pay", skip(trace))]
async fn pay_traced(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
    trace: Trace,
) -> Result<Paid, PayError> {
    let Trace(call) = trace;
    assert_eq!(call, 1, "the body runs in the first call");
    Ok(insert(tx, key, cents).await?)
}

#[idempotent(namespace = "payments", fingerprint = off)]
async fn pay_unseen(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

#[tokio::test]
async fn what_is_skipped_is_not_compared() {
    let books = Books::open(JOURNALS[0], 1).await;
    for call in 1..=2 {
        let paid = pay_traced(&books.pool, &key("a"), 5, Trace(call)).await;
        assert_eq!(paid.expect("paid").replayed(), call == 2);
    }
    // The other parameters are compared: they equal the request of `pay`, which has no trace.
    assert!(
        pay(&books.pool, &key("a"), 5)
            .await
            .expect("a replay")
            .replayed()
    );
    let error = refused(pay_traced(&books.pool, &key("a"), 6, Trace(3)).await);
    assert!(matches!(error, Error::Mismatch(_)), "{error:?}");
    for cents in [5, 6] {
        let paid = pay_unseen(&books.pool, &key("b"), cents).await;
        assert_eq!(paid.expect("paid").replayed(), cents == 6);
    }
}

#[idempotent(namespace = "payments", operation = "pay", table = "billing_record")]
async fn pay_elsewhere(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

#[idempotent(
    namespace = "payments",
    operation = "pay",
    table = "main.billing_record"
)]
async fn pay_elsewhere_in_full(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

#[tokio::test]
async fn each_table_has_keys_of_its_own() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key("a");
    let mut conn = books.db.connect().await;
    schema::create_table_if_missing(&mut conn, "billing_record")
        .await
        .expect("made");
    schema::verify_table(&mut conn, "billing_record")
        .await
        .expect("fit");
    assert!(
        !pay_elsewhere(&books.pool, &key, 5)
            .await
            .expect("paid")
            .replayed()
    );
    assert_eq!(books.count(&key).await, (1, 0));
    assert!(
        pay_elsewhere_in_full(&books.pool, &key, 5)
            .await
            .expect("paid")
            .replayed()
    );
    assert!(!pay(&books.pool, &key, 5).await.expect("paid").replayed());
    assert_eq!(books.count(&key).await, (2, 1));
}

#[idempotent(namespace = "refunds", operation = "pay")]
async fn pay_in_another_namespace(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

#[tokio::test]
async fn each_namespace_has_keys_of_its_own() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key("a");
    pay(&books.pool, &key, 5).await.expect("paid");
    let other = pay_in_another_namespace(&books.pool, &key, 6).await;
    assert!(!other.expect("paid").replayed());
    assert_eq!(books.count(&key).await, (2, 2));
}
