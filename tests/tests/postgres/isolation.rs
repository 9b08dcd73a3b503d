//! REPEATABLE READ and SERIALIZABLE, where a transaction reads a snapshot older than its lock.

use idem_runtime::Error;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::payments::{Pay, pay};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::Executor as _;

const CMD: Pay = Pay { amount: 1 };
const LEVELS: [&str; 2] = ["repeatable read", "serializable"];

#[tokio::test]
async fn a_unit_of_work_of_any_isolation_pays_once_and_replays() {
    for level in LEVELS {
        let shop = Shop::open(1).await;
        let pool = shop.pool_at(level, 1);
        let key = fresh_key();
        assert!(!pay(&pool, &key, &CMD).await.expect(level).replayed());
        assert!(pay(&pool, &key, &CMD).await.expect(level).replayed());
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn a_callers_transaction_too_old_to_see_the_winner_needs_a_fresh_one() {
    for level in LEVELS {
        let shop = Shop::open(1).await;
        let pool = shop.pool_at(level, 1);
        let key = fresh_key();
        let mut tx = pool.begin().await.expect("a transaction");
        tx.execute("SELECT count(*) FROM payment")
            .await
            .expect("its snapshot");
        let first = pay(&shop.pool, &key, &CMD).await.expect("fresh");
        let refusal = pay(&mut tx, &key, &CMD)
            .await
            .expect_err("it sees no record")
            .refusal();
        assert!(
            matches!(refusal, Error::FreshTransactionNeeded),
            "{level}: {refusal:?}"
        );
        assert!(refusal.is_retryable());
        // Nothing of the call remains, and the caller's transaction is usable.
        let committed = tx.commit().await;
        committed.expect("it only lost a savepoint");
        shop.assert_one_effect(&key).await;
        let mut tx = pool.begin().await.expect("a transaction");
        let again = pay(&mut tx, &key, &CMD).await.expect("it is recorded");
        assert!(again.replayed());
        assert_eq!(*again, *first);
    }
}

/// Only the record's own key is a rival's. A trigger's table has no snapshot of ours to blame, and neither
/// has another index of the record's.
#[tokio::test]
async fn a_duplicate_of_another_index_in_an_old_transaction_is_the_databases_error() {
    let shop = Shop::open(1).await;
    shop.run(
        "CREATE TABLE audit (n int UNIQUE); INSERT INTO audit VALUES (1); \
         CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS \
           'BEGIN INSERT INTO audit VALUES (1); RETURN NULL; END'; \
         CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
           RAISE unique_violation USING TABLE = 'idem_record', SCHEMA = 'public', \
             DETAIL = 'Key (namespace, scope, key)=(a, b, c) already exists.'; END $$",
    )
    .await;
    let trigger = "CREATE TRIGGER more AFTER INSERT ON idem_record FOR EACH ROW EXECUTE FUNCTION";
    let index = "CREATE UNIQUE INDEX one_of_each ON idem_record (operation)";
    for (made, ended) in [
        (
            &*format!("{trigger} more()"),
            "DROP TRIGGER more ON idem_record",
        ),
        (
            &*format!("{trigger} say()"),
            "DROP TRIGGER more ON idem_record",
        ),
        (index, "DROP INDEX one_of_each"),
    ] {
        pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
        if made == index {
            // One record, which is not the key's.
            shop.run("DELETE FROM idem_record WHERE created_at < (SELECT max(created_at) FROM idem_record)")
                .await;
        }
        shop.run(made).await;
        for level in ["read committed", LEVELS[0], LEVELS[1]] {
            let pool = shop.pool_at(level, 1);
            for joined in [true, false] {
                let key = fresh_key();
                let refused = if joined {
                    let mut tx = pool.begin().await.expect("a transaction");
                    let refused = pay(&mut tx, &key, &CMD).await;
                    tx.commit().await.expect("it only lost a savepoint");
                    refused
                } else {
                    pay(&pool, &key, &CMD).await
                };
                let refusal = refused.expect_err(made).refusal();
                let Error::Database(error) = &refusal else {
                    panic!("{made}, {level}, joined: {joined}: {refusal:?}");
                };
                assert_eq!(error.code().as_deref(), Some("23505"), "{made}, {level}");
                shop.assert_no_effect(&key).await;
            }
        }
        shop.run(ended).await;
    }
}

/// Two callers that each read the other's rows. The server rolls back the second, which gets the
/// error at the record's own statement.
#[tokio::test]
async fn a_serialization_failure_of_the_record_is_the_loss_of_the_callers_transaction() {
    let shop = Shop::open(1).await;
    shop.run("CREATE TABLE account (id int PRIMARY KEY, cents int); INSERT INTO account VALUES (1, 5), (2, 5)")
        .await;
    let pool = shop.pool_at("serializable", 2);
    let key = fresh_key();
    let (mut ours, mut theirs) = (
        pool.begin().await.expect("a transaction"),
        pool.begin().await.expect("a transaction"),
    );
    for (tx, statement) in [
        (&mut ours, "UPDATE account SET cents = 0 WHERE id = 1"),
        (&mut theirs, "UPDATE account SET cents = 0 WHERE id = 2"),
    ] {
        tx.execute("SELECT sum(cents) FROM account")
            .await
            .expect("read");
        tx.execute(statement).await.expect("the rows differ");
    }
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let overtake = async {
        gate.entered().await;
        theirs.commit().await.expect("the first may");
        gate.open();
    };
    let (paid, ()) = tokio::join!(pay(&mut ours, &key, &CMD), overtake);
    drop(gate);
    match paid.expect_err("it is given up").refusal() {
        Error::TransactionLost(error) => assert_eq!(error.code().as_deref(), Some("40001")),
        other => panic!("{other:?}"),
    }
    ours.rollback().await.expect("the server answers");
    shop.assert_no_effect(&key).await;
    assert!(
        !pay(&pool, &key, &CMD)
            .await
            .expect("the key is fresh")
            .replayed()
    );
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_serialization_failure_at_commit_keeps_nothing_and_may_be_retried() {
    let shop = Shop::open(1).await;
    // Makes COMMIT fail as the server's serialization check would.
    shop.run(
        "CREATE FUNCTION give_up() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN RAISE SQLSTATE '40001'; END $$;
         CREATE CONSTRAINT TRIGGER give_up AFTER INSERT ON payment
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION give_up()",
    )
    .await;
    let key = fresh_key();
    let refusal = pay(&shop.pool, &key, &CMD)
        .await
        .expect_err("it is given up")
        .refusal();
    assert!(matches!(refusal, Error::TransactionLost(_)), "{refusal:?}");
    assert!(refusal.is_retryable());
    shop.assert_no_effect(&key).await;
    shop.run("DROP TRIGGER give_up ON payment").await;
    assert!(
        !pay(&shop.pool, &key, &CMD)
            .await
            .expect("the key is fresh")
            .replayed()
    );
    shop.assert_one_effect(&key).await;
}
