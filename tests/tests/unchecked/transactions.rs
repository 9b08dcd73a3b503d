//! Competing attempts in the caller's own transaction, and for an expired key.

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::fresh_key;
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge, pay};
use sqlx::Executor as _;
use sqlx::postgres::PgTransaction;

const CMD: Pay = Pay { amount: 1 };

#[tokio::test]
async fn the_loser_in_the_callers_transaction_replays_and_the_caller_goes_on() {
    let shop = crate::shop(2).await;
    let key = fresh_key();
    let mut winner = shop.pool.begin().await.expect("a transaction");
    let mut loser = shop.pool.begin().await.expect("a transaction");
    let first = pay(&mut winner, &key, &CMD).await.expect("fresh");
    let commit = async {
        shop.observer().await.until_blocked(1).await;
        winner.commit().await.expect("nothing is wrong with it");
    };
    let (paid, ()) = tokio::join!(pay(&mut loser, &key, &CMD), commit);
    let paid = paid.expect("the winner's");
    assert!(paid.replayed());
    assert_eq!(*paid, *first);
    let other = fresh_key();
    pay(&mut loser, &other, &CMD).await.expect("fresh");
    loser.commit().await.expect("nothing is wrong with it");
    shop.assert_one_effect(&key).await;
    shop.assert_one_effect(&other).await;
}

#[tokio::test]
async fn a_deadlock_of_the_record_is_the_loss_of_the_callers_transaction() {
    let shop = crate::shop(2).await;
    shop.run("CREATE TABLE account (id int PRIMARY KEY); INSERT INTO account VALUES (1)")
        .await;
    let key = fresh_key();
    let mut competitor = shop.pool.begin().await.expect("a transaction");
    let mut ours = shop.pool.begin().await.expect("a transaction");
    // The session that detects the deadlock first is rolled back: ours.
    competitor
        .execute("SET LOCAL deadlock_timeout = '10min'")
        .await
        .expect("a superuser may");
    ours.execute("SET LOCAL deadlock_timeout = '1ms'")
        .await
        .expect("a superuser may");
    ours.execute("SELECT FROM account FOR UPDATE")
        .await
        .expect("it is free");
    let first = pay(&mut competitor, &key, &CMD).await.expect("fresh");
    assert!(!first.replayed());
    let wait_for_ours = async {
        competitor
            .execute("SELECT FROM account FOR UPDATE")
            .await
            .expect("it waits for ours");
        competitor.commit().await.expect("nothing is wrong with it");
    };
    let lose = async {
        shop.observer().await.until_blocked(1).await;
        let refusal = pay(&mut ours, &key, &CMD)
            .await
            .expect_err("a deadlock")
            .refusal();
        ours.rollback().await.expect("the server answers");
        refusal
    };
    let ((), refusal) = tokio::join!(wait_for_ours, lose);
    match refusal {
        Error::TransactionLost(error) => assert_eq!(error.code().as_deref(), Some("40P01")),
        other => panic!("{other:?}"),
    }
    shop.assert_one_effect(&key).await;
}

#[idempotent(namespace = "payments", operation = "pay", expiry = "strict")]
async fn pay_strictly(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

/// Both read the same expired record; one replaces it, and the other gets the result of the first.
#[tokio::test]
async fn competitors_for_an_expired_key_have_one_effect() {
    let shop = crate::shop(2).await;
    let key = fresh_key();
    pay_strictly(&shop.pool, &key, &CMD).await.expect("fresh");
    shop.run("UPDATE idem_record SET expires_at = clock_timestamp() - interval '1 second'")
        .await;
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let both = async {
        gate.entered().await;
        gate.entered().await;
        gate.open();
        gate.open();
    };
    let (one, two, ()) = tokio::join!(
        pay_strictly(&shop.pool, &key, &CMD),
        pay_strictly(&shop.pool, &key, &CMD),
        both
    );
    let (one, two) = (one.expect("it pays"), two.expect("it pays"));
    assert_ne!(one.replayed(), two.replayed());
    assert_eq!(*one, *two);
    assert_eq!(
        shop.effects(&key).await,
        (2, 1),
        "the expired one's and one more"
    );
}
