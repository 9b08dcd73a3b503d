//! Behind a pooler in transaction mode: each transaction may run on a different server connection.

use std::collections::HashSet;

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::gate::{self, Gate, GatePoint};
use idem_tests::patience::in_time;
use idem_tests::postgres::payments::{self, Paid, Pay, PayError};
use idem_tests::postgres::{Pooler, Shop, fresh_key};
use sqlx::postgres::PgTransaction;
use sqlx::{Connection as _, PgPool};
use tokio::task::JoinSet;

const CMD: Pay = Pay { amount: 1 };

/// Pays as is necessary behind such a pooler: the body's own statement is unnamed as well.
#[idempotent(namespace = "payments")]
async fn pay(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let id = sqlx::query_scalar("INSERT INTO payment (key, amount) VALUES ($1, $2) RETURNING id")
        .bind(key.as_str())
        .bind(cmd.amount)
        .persistent(false)
        .fetch_one(&mut **tx)
        .await?;
    gate::pass(key.as_str(), GatePoint::AfterWrite).await;
    Ok(Paid { id })
}

/// A shop with direct access to the database, and the pooler in front of it.
async fn open() -> (Pooler, Shop) {
    let (database, pooler) = Pooler::fresh().await;
    (pooler, Shop::furnish(database, 1).await)
}

/// Calls until the answer is not "in flight".
async fn insist(pool: &PgPool, key: &IdempotencyKey) -> Paid {
    in_time("the key stays in flight", async {
        loop {
            match pay(pool, key, &CMD).await {
                Ok(paid) => return *paid,
                Err(PayError::Idempotency(Error::InFlight { .. })) => {
                    tokio::task::yield_now().await;
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    })
    .await
}

#[tokio::test]
async fn the_pooler_gives_each_transaction_another_server_connection() {
    let (pooler, _shop) = open().await;
    let mut client = pooler.connect().await;
    let mut servers = HashSet::new();
    for _ in 0..3 {
        let mut tx = client.begin().await.unwrap();
        let server: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
            .persistent(false)
            .fetch_one(&mut *tx)
            .await
            .unwrap();
        servers.insert(server);
        tx.commit().await.unwrap();
    }
    assert_eq!(servers.len(), 3);
}

#[tokio::test]
async fn competitors_through_a_pooler_have_one_effect_and_one_result() {
    let (pooler, shop) = open().await;
    let pools = [0; 2].map(|_| pooler.pool(8, pooler.options()));
    let keys = [(); 5].map(|()| fresh_key());
    let mut calls = JoinSet::new();
    for n in 0..100 {
        let (pool, key) = (pools[n % 2].clone(), keys[n % 5].clone());
        calls.spawn(async move { (key.as_str().to_owned(), insist(&pool, &key).await.id) });
    }
    let answers: HashSet<_> = calls.join_all().await.into_iter().collect();
    assert_eq!(answers.len(), keys.len(), "{answers:?}");
    for key in &keys {
        shop.assert_one_effect(key).await;
    }
}

#[tokio::test]
async fn a_duplicate_on_another_server_connection_is_in_flight_and_replays_afterwards() {
    let (pooler, shop) = open().await;
    let pool = pooler.pool(2, pooler.options());
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let duplicate = async {
        gate.entered().await;
        // More often than there are server connections: each of them refuses it.
        for _ in 0..4 {
            let refusal = pay(&pool, &key, &CMD).await.unwrap_err().refusal();
            assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
        }
        gate.open();
    };
    let (first, ()) = tokio::join!(pay(&pool, &key, &CMD), duplicate);
    drop(gate);
    let first = first.unwrap();
    for _ in 0..4 {
        let again = pay(&pool, &key, &CMD).await.unwrap();
        assert!(again.replayed());
        assert_eq!(*again, *first);
    }
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_call_in_the_callers_transaction_through_a_pooler_goes_as_that_goes() {
    let (pooler, shop) = open().await;
    let mut client = pooler.connect().await;
    let key = fresh_key();
    let mut tx = client.begin().await.unwrap();
    assert!(!pay(&mut tx, &key, &CMD).await.unwrap().replayed());
    tx.rollback().await.unwrap();
    shop.assert_no_effect(&key).await;
    // The claim is held by none of the server connections, so the next one does not matter.
    for replayed in [false, true, true, true] {
        let mut tx = client.begin().await.unwrap();
        let paid = pay(&mut tx, &key, &CMD).await.unwrap();
        assert_eq!(paid.replayed(), replayed);
        tx.commit().await.unwrap();
    }
    shop.assert_one_effect(&key).await;
}

/// Who keeps statements by name there may be refused by the server: it knows them on one connection of
/// its own and not on the next, or knows another client's. Which it is when, `pooler_statements` has.
#[tokio::test]
async fn who_keeps_named_statements_behind_a_pooler_may_get_errors_and_never_a_second_effect() {
    let (pooler, shop) = open().await;
    let careless = [0; 2].map(|_| pooler.pool(2, pooler.careless_options()));
    let half_told = pooler.pool(2, pooler.options());
    let keys = [(); 6].map(|()| fresh_key());
    // No such statement here, or another client's of that name, with other values perhaps.
    let assert_mixed_up = |code: &str| {
        assert!(matches!(code, "26000" | "42P05" | "08P01"), "{code}");
    };
    for n in 0..48 {
        let key = &keys[n % keys.len()];
        let answer = match n % 3 {
            // Named statements in the library and in the body; only in the body; only in the
            // library.
            0 => payments::pay(&careless[n % 2], key, &CMD).await,
            1 => payments::pay(&half_told, key, &CMD).await,
            _ => pay(&careless[n % 2], key, &CMD).await,
        };
        match answer {
            Ok(_) => shop.assert_one_effect(key).await,
            Err(PayError::Idempotency(Error::StatementsLost(error))) => {
                assert_mixed_up(&error.code().expect("the server's word"));
            }
            Err(PayError::Database(error)) if n % 3 != 2 => {
                let error = error.as_database_error().expect("the server's word");
                assert_mixed_up(&error.code().expect("a SQLSTATE"));
            }
            Err(other) => panic!("{other:?}"),
        }
        let (payments, records) = shop.effects(key).await;
        assert!(payments == records && payments <= 1, "{payments} {records}");
    }
    // The keys are usable.
    let pool = pooler.pool(2, pooler.options());
    for key in &keys {
        insist(&pool, key).await;
        shop.assert_one_effect(key).await;
    }
}
