//! Calls in the caller's own transaction: the library uses a savepoint, and the caller's COMMIT
//! decides.

use idem_runtime::Error;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::payments::{Pay, PayError, fail_to_pay, pay, pay_in_vain, pay_then};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::Executor as _;
use sqlx::postgres::PgTransaction;

const CMD: Pay = Pay { amount: 1 };

/// Writes a row as the caller.
async fn note(tx: &mut PgTransaction<'_>) {
    tx.execute("INSERT INTO payment (key, amount) VALUES ('the caller''s own', 1)")
        .await
        .expect("the transaction is in order");
}

/// Returns how many of the caller's rows are committed.
async fn notes(shop: &Shop) -> i64 {
    shop.payments(&"the caller's own".parse().expect("a key"))
        .await
}

#[tokio::test]
async fn two_keys_in_one_transaction_are_committed_with_it() {
    let shop = Shop::open(1).await;
    let (one, two) = (fresh_key(), fresh_key());
    let mut tx = shop.pool.begin().await.expect("a transaction");
    assert!(!pay(&mut tx, &one, &CMD).await.expect("fresh").replayed());
    note(&mut tx).await;
    assert!(!pay(&mut tx, &two, &CMD).await.expect("fresh").replayed());
    shop.assert_no_effect(&one).await;
    tx.commit().await.expect("nothing is wrong with it");
    shop.assert_one_effect(&one).await;
    shop.assert_one_effect(&two).await;
    assert_eq!(notes(&shop).await, 1);
}

#[tokio::test]
async fn a_replay_inside_a_transaction_may_be_of_an_earlier_one_or_of_its_own() {
    let shop = Shop::open(2).await;
    let (earlier, own) = (fresh_key(), fresh_key());
    let first = pay(&shop.pool, &earlier, &CMD).await.expect("fresh");
    let mut tx = shop.pool.begin().await.expect("a transaction");
    let again = pay(&mut tx, &earlier, &CMD).await.expect("recorded");
    assert!(again.replayed());
    assert_eq!(*again, *first);
    let first = pay(&mut tx, &own, &CMD).await.expect("fresh");
    let again = pay(&mut tx, &own, &CMD).await.expect("recorded");
    assert!(!first.replayed() && again.replayed());
    assert_eq!(*again, *first);
    tx.commit().await.expect("nothing is wrong with it");
    shop.assert_one_effect(&earlier).await;
    shop.assert_one_effect(&own).await;
}

/// Returns the claims that the transaction lists.
async fn held(tx: &mut PgTransaction<'_>) -> String {
    sqlx::query_scalar("SELECT coalesce(current_setting('idem.held', true), '')")
        .fetch_one(&mut **tx)
        .await
        .expect("the transaction is in order")
}

#[tokio::test]
async fn a_claim_leaves_the_list_with_its_record_or_its_rollback_so_that_no_call_reads_the_earlier_ones()
 {
    let shop = Shop::open(1).await;
    let mut tx = shop.pool.begin().await.expect("a transaction");
    let mut keys = Vec::new();
    for number in 0..50 {
        let key = fresh_key();
        if number % 5 == 4 {
            let failed = fail_to_pay(&mut tx, &key, &CMD, None).await;
            assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
        } else if number % 5 == 3 {
            let declined = fail_to_pay(&mut tx, &key, &CMD, Some(51)).await;
            assert!(matches!(declined, Err(PayError::Declined { .. })));
        } else {
            pay(&mut tx, &key, &CMD).await.expect("fresh");
            keys.push(key);
        }
        assert_eq!(held(&mut tx).await, "", "after call {number}");
    }
    // The records arbitrate within the transaction.
    for key in &keys {
        assert!(pay(&mut tx, key, &CMD).await.expect("recorded").replayed());
    }
    tx.commit().await.expect("nothing is wrong with it");
    for key in &keys {
        shop.assert_one_effect(key).await;
    }
}

#[tokio::test]
async fn a_record_that_the_caller_rolls_back_to_a_savepoint_takes_its_claim_along() {
    let shop = Shop::open(1).await;
    let (before, key) = (fresh_key(), fresh_key());
    let mut tx = shop.pool.begin().await.expect("a transaction");
    pay(&mut tx, &before, &CMD).await.expect("fresh");
    for _ in 0..2 {
        tx.execute("SAVEPOINT own").await.expect("a savepoint");
        assert!(!pay(&mut tx, &key, &CMD).await.expect("fresh").replayed());
        tx.execute("ROLLBACK TO SAVEPOINT own")
            .await
            .expect("it is set");
        assert_eq!(held(&mut tx).await, "");
    }
    assert!(!pay(&mut tx, &key, &CMD).await.expect("fresh").replayed());
    assert!(pay(&mut tx, &before, &CMD).await.expect("own").replayed());
    tx.commit().await.expect("nothing is wrong with it");
    shop.assert_one_effect(&key).await;
    shop.assert_one_effect(&before).await;
}

#[tokio::test]
async fn if_the_caller_rolls_back_nothing_has_happened() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let mut tx = shop.pool.begin().await.expect("a transaction");
    pay(&mut tx, &key, &CMD).await.expect("fresh");
    tx.rollback().await.expect("the server answers");
    shop.assert_no_effect(&key).await;
    let paid = pay(&shop.pool, &key, &CMD).await.expect("fresh again");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn until_the_caller_has_committed_its_keys_are_in_flight_for_others() {
    let shop = Shop::open(2).await;
    let key = fresh_key();
    let mut tx = shop.pool.begin().await.expect("a transaction");
    pay(&mut tx, &key, &CMD).await.expect("fresh");
    let refusal = pay(&shop.pool, &key, &CMD)
        .await
        .expect_err("it runs")
        .refusal();
    assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
    tx.commit().await.expect("nothing is wrong with it");
    assert!(
        pay(&shop.pool, &key, &CMD)
            .await
            .expect("recorded")
            .replayed()
    );
}

#[tokio::test]
async fn a_transient_failure_undoes_the_call_alone_and_the_caller_goes_on() {
    let shop = Shop::open(2).await;
    let (failing, other) = (fresh_key(), fresh_key());
    let mut tx = shop.pool.begin().await.expect("a transaction");
    note(&mut tx).await;
    let failed = pay_in_vain(&mut tx, &failing, &CMD).await;
    assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
    let failed = fail_to_pay(&mut tx, &failing, &CMD, None).await;
    assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
    let failed = pay_then(&mut tx, &failing, &CMD, "SELECT 1 / 0").await;
    assert!(matches!(failed, Err(PayError::Database(_))), "{failed:?}");
    // The lock was released with the savepoint: another caller may use the key while this
    // transaction is open.
    let elsewhere = pay(&shop.pool, &failing, &CMD).await.expect("fresh");
    assert!(!elsewhere.replayed());
    assert!(!pay(&mut tx, &other, &CMD).await.expect("fresh").replayed());
    tx.commit().await.expect("nothing is wrong with it");
    shop.assert_one_effect(&failing).await;
    shop.assert_one_effect(&other).await;
    assert_eq!(notes(&shop).await, 1);
}

#[tokio::test]
async fn a_permanent_failure_is_recorded_with_the_callers_commit_and_its_writes_undone() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let mut tx = shop.pool.begin().await.expect("a transaction");
    note(&mut tx).await;
    let failed = fail_to_pay(&mut tx, &key, &CMD, Some(51)).await;
    assert!(
        matches!(failed, Err(PayError::Declined { code: 51 })),
        "{failed:?}"
    );
    tx.commit().await.expect("nothing is wrong with it");
    assert_eq!(
        (shop.payments(&key).await, shop.records(&key).await),
        (0, 1)
    );
    assert_eq!(notes(&shop).await, 1);
    let failed = fail_to_pay(&shop.pool, &key, &CMD, Some(99)).await;
    assert!(
        matches!(failed, Err(PayError::Declined { code: 51 })),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_call_given_up_half_way_leaves_nothing_of_itself_in_the_callers_commit() {
    for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), point);
        let mut tx = shop.pool.begin().await.expect("a transaction");
        note(&mut tx).await;
        tokio::select! {
            paid = pay(&mut tx, &key, &CMD) => panic!("the gate is closed: {paid:?}"),
            () = gate.entered() => {}
        }
        note(&mut tx).await;
        tx.commit().await.expect("nothing is wrong with it");
        shop.assert_no_effect(&key).await;
        assert_eq!(notes(&shop).await, 2);
        drop(gate);
        assert!(!pay(&shop.pool, &key, &CMD).await.expect("fresh").replayed());
    }
}

#[tokio::test]
async fn a_body_that_ends_the_callers_transaction_is_refused_and_nothing_is_recorded() {
    for sql in [
        "COMMIT",
        "ROLLBACK",
        "COMMIT; BEGIN",
        "RELEASE SAVEPOINT _sqlx_savepoint_1; RESET ALL",
    ] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let mut tx = shop.pool.begin().await.expect("a transaction");
        let refusal = pay_then(&mut tx, &key, &CMD, sql).await;
        let refusal = refusal.expect_err("it is over").refusal();
        assert!(
            matches!(refusal, Error::TransactionEnded),
            "{sql}: {refusal:?}"
        );
        drop(tx);
        assert_eq!(shop.records(&key).await, 0, "{sql}");
        let other = fresh_key();
        pay(&shop.pool, &other, &CMD)
            .await
            .expect("the pool is usable");
        shop.assert_one_effect(&other).await;
    }
}

#[tokio::test]
async fn a_transaction_that_has_failed_before_the_call_is_told_so() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let mut tx = shop.pool.begin().await.expect("a transaction");
    let failed = tx.execute("SELECT 1 / 0").await;
    assert!(failed.is_err());
    let refusal = pay(&mut tx, &key, &CMD)
        .await
        .expect_err("it is aborted")
        .refusal();
    assert!(matches!(refusal, Error::TransactionAborted), "{refusal:?}");
    tx.rollback().await.expect("the server answers");
    shop.assert_no_effect(&key).await;
}
