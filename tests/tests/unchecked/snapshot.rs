//! Competing attempts that read from a snapshot older than the winner's record.

use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::fresh_key;
use idem_tests::postgres::payments::{Pay, PayError, fail_to_pay, pay, pay_in_vain, pay_then};

const CMD: Pay = Pay { amount: 1 };
const LEVELS: [&str; 2] = ["repeatable read", "serializable"];

#[tokio::test]
async fn the_loser_of_any_isolation_replays() {
    for level in LEVELS {
        let shop = crate::shop(1).await;
        let pool = shop.pool_at(level, 1);
        let key = fresh_key();
        // The loser's body waits here, with its old snapshot, while the winner pays.
        let gate = Gate::at(key.as_str(), GatePoint::Last);
        let overtake = async {
            gate.entered().await;
            let first = pay(&shop.pool, &key, &CMD).await.expect("fresh");
            gate.open();
            first
        };
        let (paid, first) = tokio::join!(pay_then(&pool, &key, &CMD, "SELECT 1"), overtake);
        let paid = paid.unwrap_or_else(|error| panic!("{level}: {error:?}"));
        assert!(paid.replayed() && !first.replayed(), "{level}");
        assert_eq!(*paid, *first, "{level}");
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn an_own_error_of_the_body_gives_way_to_a_competitors_success() {
    for level in LEVELS {
        let shop = crate::shop(1).await;
        let pool = shop.pool_at(level, 1);
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), GatePoint::Last);
        let overtake = async {
            gate.entered().await;
            let first = pay(&shop.pool, &key, &CMD).await.expect("fresh");
            gate.open();
            first
        };
        let (paid, first) = tokio::join!(pay_in_vain(&pool, &key, &CMD), overtake);
        let paid = paid.unwrap_or_else(|error| panic!("{level}: {error:?}"));
        assert!(paid.replayed() && !first.replayed(), "{level}");
        assert_eq!(*paid, *first, "{level}");
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn a_permanent_failure_loses_to_a_competitors_success() {
    let shop = crate::shop(2).await;
    let key = fresh_key();
    let mut winner = shop.pool.begin().await.expect("a transaction");
    pay(&mut winner, &key, &CMD).await.expect("fresh");
    let commit = async {
        shop.observer().await.until_blocked(1).await;
        winner.commit().await.expect("nothing is wrong with it");
    };
    let (failed, ()) = tokio::join!(fail_to_pay(&shop.pool, &key, &CMD, Some(51)), commit);
    assert!(failed.expect("the rival's result").replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn an_own_error_without_a_competitor_stands() {
    for level in LEVELS {
        let shop = crate::shop(1).await;
        let key = fresh_key();
        let failed = pay_in_vain(&shop.pool_at(level, 1), &key, &CMD).await;
        assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
        shop.assert_no_effect(&key).await;
    }
}
