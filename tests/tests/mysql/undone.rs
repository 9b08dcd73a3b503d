//! A transaction that the server rolled back because of a conflicting transaction of another node,
//! without an error. The tests simulate it by a ROLLBACK in place of a statement that reports
//! success.

use idem_runtime::{Error, IdempotencyKey, Operation};
use idem_tests::mysql::payments::{Paid, Pay, PayError, fail_to_pay, insert, pay};
use idem_tests::mysql::{Shop, fresh_key};
use idem_tests::rewrite::Rewrite;
use sqlx::mysql::{MySqlPool, MySqlTransaction};

const CMD: Pay = Pay { amount: 1 };
const STRICT: Operation = Operation::new("payments", "pay").strict_expiry();

/// A claim's own savepoint.
const INSERT_MARK: &str = "SAVEPOINT idem_";
/// The statement by which the library checks for a caller's transaction before it looks a record
/// up.
const PROOF: &str = "RELEASE SAVEPOINT here_idem; SELECT";

struct Link {
    shop: Shop,
    rewrite: Rewrite,
    pool: MySqlPool,
    key: IdempotencyKey,
}

impl Link {
    async fn up() -> Self {
        let shop = Shop::open(1).await;
        let rewrite = Rewrite::to(shop.database.options()).await;
        let pool = shop.pool_by(1, rewrite.options());
        Self {
            shop,
            rewrite,
            pool,
            key: fresh_key(),
        }
    }

    /// A record past its retention.
    async fn expired(&self) {
        pay(&self.shop.pool, &self.key, &CMD).await.expect("fresh");
        let past = "UPDATE idem_record SET created_at = 0, expires_at = 1; DELETE FROM payment";
        self.shop.run(past).await;
    }
}

async fn charge(tx: &mut MySqlTransaction<'_>, key: &IdempotencyKey) -> Result<Paid, PayError> {
    let id = insert(tx, key.as_str(), CMD.amount).await?;
    Ok(Paid { id })
}

#[tokio::test]
async fn a_claim_that_the_server_has_undone_runs_no_body_and_is_made_anew() {
    let link = Link::up().await;
    link.rewrite.next(INSERT_MARK, "ROLLBACK");
    let paid = pay(&link.pool, &link.key, &CMD)
        .await
        .expect("the second claim");
    assert!(link.rewrite.is_done() && !paid.replayed());
    link.shop.assert_one_effect(&link.key).await;
}

#[tokio::test]
async fn a_claim_of_an_expired_record_that_the_server_has_undone_is_made_anew() {
    let link = Link::up().await;
    link.expired().await;
    link.rewrite.next(INSERT_MARK, "ROLLBACK");
    let paid = STRICT
        .run(&link.pool, &link.key, &CMD, async |tx| {
            charge(tx, &link.key).await
        })
        .await
        .expect("the second claim");
    assert!(link.rewrite.is_done() && !paid.replayed());
    link.shop.assert_one_effect(&link.key).await;
}

#[tokio::test]
async fn in_a_callers_transaction_that_the_server_has_undone_no_body_runs() {
    for statement in [INSERT_MARK, PROOF] {
        let link = Link::up().await;
        let mut tx = link.pool.begin().await.expect("a transaction");
        insert(&mut tx, "the caller's own", 1)
            .await
            .expect("in order");
        link.rewrite.next(statement, "ROLLBACK");
        let refusal = pay(&mut tx, &link.key, &CMD).await.expect_err("it is gone");
        let refusal = refusal.refusal();
        assert!(link.rewrite.is_done());
        assert!(matches!(refusal, Error::TransactionLost(_)), "{refusal:?}");
        assert!(refusal.is_retryable());
        // Regardless of how the caller ends it.
        let _ = tx.commit().await;
        link.shop.assert_no_effect(&link.key).await;
        let paid = pay(&link.pool, &link.key, &CMD).await.expect("fresh");
        assert!(!paid.replayed());
    }
}

#[tokio::test]
async fn in_a_callers_transaction_that_the_server_has_undone_no_expired_record_is_replaced() {
    let link = Link::up().await;
    link.expired().await;
    let mut tx = link.pool.begin().await.expect("a transaction");
    link.rewrite.next(INSERT_MARK, "ROLLBACK");
    let refusal = STRICT
        .run(&mut tx, &link.key, &CMD, async |tx| {
            charge(tx, &link.key).await
        })
        .await
        .expect_err("it is gone")
        .refusal();
    assert!(link.rewrite.is_done());
    assert!(matches!(refusal, Error::TransactionLost(_)), "{refusal:?}");
    let _ = tx.commit().await;
    assert_eq!(link.shop.effects(&link.key).await, (0, 1));
}

/// The server undoes the transaction between the release of the claim's savepoint and the record.
#[tokio::test]
async fn an_end_that_the_server_has_undone_is_no_fault_of_the_body_and_may_be_tried_again() {
    let link = Link::up().await;
    for fails in [false, true] {
        let key = fresh_key();
        link.rewrite.next("UPDATE idem_record SET", "ROLLBACK");
        let ended = if fails {
            fail_to_pay(&link.pool, &key, &CMD, Some(51)).await
        } else {
            pay(&link.pool, &key, &CMD).await
        };
        let refusal = ended.expect_err("it is gone").refusal();
        assert!(link.rewrite.is_done(), "failed: {fails}");
        let lost = matches!(refusal, Error::TransactionLost(_));
        assert!(lost && refusal.is_retryable(), "{fails}: {refusal:?}");
        link.shop.assert_no_effect(&key).await;
        let paid = pay(&link.pool, &key, &CMD).await.expect("fresh");
        assert!(!paid.replayed(), "failed: {fails}");
        link.shop.assert_one_effect(&key).await;
    }
}

/// At the release of the savepoint, which then reports success: the record to replace is committed, and would be
/// replaced outside any transaction, without the body's writes.
#[tokio::test]
async fn an_end_that_the_server_has_undone_replaces_no_expired_record() {
    let link = Link::up().await;
    link.expired().await;
    link.rewrite.next("RELEASE SAVEPOINT idem_", "ROLLBACK");
    let refusal = STRICT
        .run(&link.pool, &link.key, &CMD, async |tx| {
            charge(tx, &link.key).await
        })
        .await
        .expect_err("it is gone")
        .refusal();
    assert!(link.rewrite.is_done());
    assert!(matches!(refusal, Error::TransactionLost(_)), "{refusal:?}");
    assert_eq!(link.shop.effects(&link.key).await, (0, 1));
    let paid = STRICT
        .run(&link.shop.pool, &link.key, &CMD, async |tx| {
            charge(tx, &link.key).await
        })
        .await
        .expect("the record is still expired");
    assert!(!paid.replayed());
}
