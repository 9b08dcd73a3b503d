//! Failures: which are recorded, which are replayed, and which leave nothing behind.

use idem_runtime::{Error, IdempotencyKey, ReplayExt as _, StoredFailure};
use idem_tests::postgres::payments::{Pay, PayError, fail_to_pay, pay, pay_in_vain, pay_then};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::error::DatabaseError;

const CMD: Pay = Pay { amount: 1 };

async fn stored(shop: &Shop, key: &IdempotencyKey) -> serde_json::Value {
    let text: String =
        sqlx::query_scalar("SELECT failure FROM idem_record_readable WHERE key = $1")
            .bind(key.as_str())
            .fetch_one(&shop.pool)
            .await
            .expect("it is recorded");
    serde_json::from_str(&text).expect("it is JSON")
}

#[tokio::test]
async fn a_permanent_failure_is_recorded_replayed_and_its_writes_undone() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let failed = fail_to_pay(&shop.pool, &key, &CMD, Some(51)).await;
    assert!(
        matches!(failed, Err(PayError::Declined { code: 51 })),
        "{failed:?}"
    );
    assert_eq!(
        (shop.payments(&key).await, shop.records(&key).await),
        (0, 1)
    );
    let expected = serde_json::json!({
        "class": "Declined",
        "message": "card declined",
        "cause": "limit reached",
        "data": { "code": 51 },
    });
    assert_eq!(stored(&shop, &key).await, expected);
    // A second run would fail with a different code.
    let failed = fail_to_pay(&shop.pool, &key, &CMD, Some(99)).await;
    assert!(
        matches!(failed, Err(PayError::Declined { code: 51 })),
        "{failed:?}"
    );
    assert_eq!(
        (shop.payments(&key).await, shop.records(&key).await),
        (0, 1)
    );
}

#[tokio::test]
async fn a_replayed_failure_is_told_from_a_first_one() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    for replayed in [false, true, true] {
        let failed = fail_to_pay(&shop.pool, &key, &CMD, Some(51)).replayable();
        let declined = failed.await.expect_err("declined");
        assert!(matches!(*declined, PayError::Declined { code: 51 }));
        assert_eq!(declined.replayed(), replayed);
        assert_eq!(declined.recorded_at().is_some(), replayed);
    }
    let fresh = fresh_key();
    for _ in 0..2 {
        let failed = fail_to_pay(&shop.pool, &fresh, &CMD, None).replayable();
        assert!(!failed.await.expect_err("for now").replayed());
    }
    let refused = pay(&shop.pool, &key, &Pay { amount: 2 }).replayable();
    let mismatch = refused.await.expect_err("another request");
    assert!(matches!(
        *mismatch,
        PayError::Idempotency(Error::Mismatch(_))
    ));
    assert!(!mismatch.replayed());
}

#[tokio::test]
async fn a_handler_that_records_no_failures_replays_them_as_the_librarys_error() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    fail_to_pay(&shop.pool, &key, &CMD, Some(51))
        .await
        .expect_err("it fails");
    let refusal = pay(&shop.pool, &key, &CMD)
        .await
        .expect_err("it had failed")
        .refusal();
    let expected = StoredFailure::new("Declined", "card declined")
        .with_cause("limit reached")
        .with_data(serde_json::json!({ "code": 51 }));
    match refusal {
        Error::RecordedFailure(failure) => assert_eq!(*failure, expected),
        other => panic!("{other:?}"),
    }
    assert_eq!(shop.payments(&key).await, 0);
}

#[tokio::test]
async fn a_failure_of_an_unknown_class_is_replayed_with_its_message() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    fail_to_pay(&shop.pool, &key, &CMD, Some(51))
        .await
        .expect_err("it fails");
    let renamed = r#"{"class":"Frozen","message":"the account is frozen"}"#;
    shop.run(&format!(
        "UPDATE idem_record SET failure = convert_to('{renamed}', 'UTF8')"
    ))
    .await;
    let refusal = fail_to_pay(&shop.pool, &key, &CMD, None).await;
    let refusal = refusal.expect_err("it had failed").refusal();
    match refusal {
        Error::RecordedFailure(failure) => {
            assert_eq!(failure.class, "Frozen");
            assert_eq!(failure.message, "the account is frozen");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_transient_failure_leaves_nothing_and_the_retry_runs() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    for failed in [
        pay_in_vain(&shop.pool, &key, &CMD).await,
        fail_to_pay(&shop.pool, &key, &CMD, None).await,
    ] {
        assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
        shop.assert_no_effect(&key).await;
    }
    let paid = pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_database_error_of_the_body_is_its_own_error_and_leaves_nothing() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let failed = pay_then(&shop.pool, &key, &CMD, "SELECT 1 / 0").await;
    assert!(matches!(failed, Err(PayError::Database(_))), "{failed:?}");
    shop.assert_no_effect(&key).await;
}

#[tokio::test]
async fn a_unique_violation_of_the_users_own_table_is_no_competitor() {
    let shop = Shop::open(1).await;
    shop.run("CREATE UNIQUE INDEX ON payment (key)").await;
    let key = fresh_key();
    let sql = format!(
        "INSERT INTO payment (key, amount) VALUES ('{}', 2)",
        key.as_str()
    );
    let failed = pay_then(&shop.pool, &key, &CMD, &sql)
        .await
        .expect_err("it is there");
    let PayError::Database(error) = failed else {
        panic!("{failed:?}")
    };
    assert!(
        error
            .as_database_error()
            .is_some_and(DatabaseError::is_unique_violation)
    );
    shop.assert_no_effect(&key).await;
}

#[tokio::test]
async fn a_deferred_constraint_at_commit_keeps_nothing() {
    let shop = Shop::open(1).await;
    shop.run("ALTER TABLE payment ADD CONSTRAINT once UNIQUE (key) DEFERRABLE INITIALLY DEFERRED")
        .await;
    let key = fresh_key();
    let sql = format!(
        "INSERT INTO payment (key, amount) VALUES ('{}', 2)",
        key.as_str()
    );
    let refusal = pay_then(&shop.pool, &key, &CMD, &sql).await;
    let refusal = refusal.expect_err("COMMIT refuses").refusal();
    match &refusal {
        Error::CommitFailed(error) => assert_eq!(error.code().as_deref(), Some("23505")),
        other => panic!("{other:?}"),
    }
    shop.assert_no_effect(&key).await;
    let paid = pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}
