//! Bodies that ignore the error of a deadlock or a lock timeout.

use idem_runtime::{Error, Failure, IdempotencyKey, StoredFailure, idempotent};
use idem_tests::gate::{self, Gate, GatePoint};
use idem_tests::mysql::payments::{Paid, Pay, PayError, charge, pay, pay_whatever};
use idem_tests::mysql::{Options, Server, Shop, fresh_key};
use sqlx::mysql::MySqlTransaction;
use sqlx::{Executor as _, MySqlConnection};

const CMD: Pay = Pay { amount: 1 };

/// Two rows to lock, and further rows that make a transaction too heavy to be the deadlock's
/// victim.
const ACCOUNTS: &str = "CREATE TABLE account (id int PRIMARY KEY, n int NOT NULL) ENGINE = InnoDB; \
     INSERT INTO account SELECT seq, 0 FROM seq_1_to_200";

/// Pays, locks account 1, and after the gate locks account 2 and ignores the result.
#[idempotent(namespace = "payments", operation = "pay")]
async fn pay_whatever_the_deadlock(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let paid = charge(tx, key, cmd).await?;
    tx.execute("UPDATE account SET n = n + 1 WHERE id = 1")
        .await?;
    gate::pass(key.as_str(), GatePoint::Last).await;
    let error = tx
        .execute("UPDATE account SET n = n + 1 WHERE id = 2")
        .await
        .expect_err("this one is the victim");
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    assert_eq!(code.as_deref(), Some("40001"));
    Ok(paid)
}

/// A transaction that locks account 2 and has many changes, so that the server rolls the other one
/// back.
async fn heavy(shop: &Shop) -> MySqlConnection {
    let mut other = shop.database.connect().await;
    other.execute("BEGIN").await.expect("none is open");
    other
        .execute("UPDATE account SET n = n + 1 WHERE id > 1")
        .await
        .expect("nobody has them");
    other
}

#[tokio::test]
async fn a_body_that_swallows_a_deadlock_is_told_so_and_nothing_is_kept() {
    for joined in [false, true] {
        let shop = Shop::open(1).await;
        shop.run(ACCOUNTS).await;
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), GatePoint::Last);
        let mut other = heavy(&shop).await;
        let cross = async {
            gate.entered().await;
            let crossing = async {
                other
                    .execute("UPDATE account SET n = n + 1 WHERE id = 1")
                    .await
                    .expect("the other one is the victim");
            };
            let release = async {
                shop.observer().await.until_blocked(1).await;
                gate.open();
            };
            tokio::join!(crossing, release);
        };
        let call = async {
            if !joined {
                return pay_whatever_the_deadlock(&shop.pool, &key, &CMD).await;
            }
            let mut tx = shop.pool.begin().await?;
            tx.execute("INSERT INTO payment (`key`, amount) VALUES ('before', 1)")
                .await?;
            let paid = pay_whatever_the_deadlock(&mut tx, &key, &CMD).await;
            // The caller's transaction was rolled back as well, and its next statement returns an
            // error.
            let next = tx
                .execute("INSERT INTO payment (`key`, amount) VALUES ('after', 1)")
                .await;
            assert!(next.is_err());
            paid
        };
        let (paid, ()) = tokio::join!(call, cross);
        let refusal = paid.expect_err("its writes are gone").refusal();
        assert!(matches!(refusal, Error::TransactionEnded), "{refusal:?}");
        other.execute("COMMIT").await.expect("it has won");
        shop.assert_no_effect(&key).await;
        let all: i64 = sqlx::query_scalar("SELECT count(*) FROM payment")
            .fetch_one(&mut other)
            .await
            .expect("the server answers");
        assert_eq!(all, 0);
        let paid = pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
        assert!(!paid.replayed());
    }
}

/// A deadlock that the body reports as a permanent failure, with or without the database's error as
/// its source.
#[derive(Debug, thiserror::Error, Failure)]
enum Sale {
    #[error("sold out")]
    #[failure(permanent, database)]
    SoldOut(#[source] sqlx::Error),
    #[error("the shelf is closed")]
    #[failure(permanent)]
    Closed,
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

/// Locks account 1, and after the gate locks account 2.
#[idempotent(namespace = "sales", failures = "record", skip(hides))]
async fn sell(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    hides: bool,
) -> Result<i64, Sale> {
    tx.execute("UPDATE account SET n = n + 1 WHERE id = 1")
        .await?;
    gate::pass(key.as_str(), GatePoint::Last).await;
    let sold = tx
        .execute("UPDATE account SET n = n + 1 WHERE id = 2")
        .await;
    match sold {
        Ok(_) => Ok(1),
        Err(_) if hides => Err(Sale::Closed),
        Err(error) => Err(Sale::SoldOut(error)),
    }
}

#[tokio::test]
async fn a_deadlock_that_a_body_calls_permanent_is_not_recorded_and_its_retry_is_not_advised_against()
 {
    for hides in [false, true] {
        let shop = Shop::open(1).await;
        shop.run(ACCOUNTS).await;
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), GatePoint::Last);
        let mut other = heavy(&shop).await;
        let cross = async {
            gate.entered().await;
            let crossing = async {
                other
                    .execute("UPDATE account SET n = n + 1 WHERE id = 1")
                    .await
                    .expect("the other one is the victim");
            };
            let release = async {
                shop.observer().await.until_blocked(1).await;
                gate.open();
            };
            tokio::join!(crossing, release);
        };
        let (sold, ()) = tokio::join!(sell(&shop.pool, &key, hides), cross);
        match sold {
            // The body's own error; nothing is recorded.
            Err(Sale::SoldOut(_)) => assert!(!hides),
            Err(Sale::Idempotency(error)) => {
                assert!(hides && error.is_retryable(), "{error:?}");
                assert!(matches!(error, Error::TransactionLost(_)), "{error:?}");
            }
            other => panic!("{other:?}"),
        }
        other.execute("COMMIT").await.expect("it has won");
        shop.assert_no_effect(&key).await;
        drop(gate);
        let sold = sell(&shop.pool, &key, hides).await;
        assert!(!sold.expect("the key is fresh").replayed());
    }
}

const AT_ONCE: &str =
    "SET STATEMENT innodb_lock_wait_timeout = 0 FOR UPDATE account SET n = 9 WHERE id = 2";

#[tokio::test]
async fn a_lock_timeout_ends_only_its_statement_and_the_body_may_go_on() {
    let shop = Shop::open(1).await;
    shop.run(ACCOUNTS).await;
    let key = fresh_key();
    let _other = heavy(&shop).await;
    pay_whatever(&shop.pool, &key, &CMD, AT_ONCE)
        .await
        .expect("it has handled it");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn where_a_lock_timeout_rolls_all_back_a_body_that_swallows_it_is_told_so() {
    let server = Server::start(&Options::new().set("innodb_rollback_on_timeout", "ON"));
    let server = server.expect("a server");
    let shop = Shop::open_on(&server, 2).await;
    shop.run(ACCOUNTS).await;
    let key = fresh_key();
    let _other = heavy(&shop).await;
    let refusal = pay_whatever(&shop.pool, &key, &CMD, AT_ONCE).await;
    let refusal = refusal.expect_err("its writes are gone").refusal();
    assert!(matches!(refusal, Error::TransactionEnded), "{refusal:?}");
    shop.assert_no_effect(&key).await;

    // A caller's transaction that conflicts with another attempt's claim is rolled back as well,
    // and the caller gets an error.
    let mut competitor = shop.pool.begin().await.expect("a transaction");
    pay(&mut competitor, &key, &CMD)
        .await
        .expect("the key is fresh");
    let mut tx = shop.pool.begin().await.expect("a transaction");
    tx.execute("INSERT INTO payment (`key`, amount) VALUES ('before', 1)")
        .await
        .expect("nobody has it");
    let refusal = pay(&mut tx, &key, &CMD).await.expect_err("it runs");
    let refusal = refusal.refusal();
    assert!(matches!(refusal, Error::TransactionLost(_)), "{refusal:?}");
    let _ = tx.rollback().await;
    competitor.commit().await.expect("nothing is wrong with it");
    shop.assert_one_effect(&key).await;
}
