//! Duplicates under `on_conflict = "wait"`.

use std::future;
use std::time::Duration;

use idem_runtime::waiters::observed;
use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::waiting::{until_looked, until_waiting};
use sqlx::sqlite::{SqlitePoolOptions, SqliteTransaction};
use tokio::runtime;
use tokio::task::JoinSet;

use crate::payments::{Books, Gate, JOURNALS, Paid, PayError, insert, key, refused};

/// Two handlers of the same operation, one that waits and one that does not: only the name is
/// compared.
#[idempotent(
    namespace = "payments",
    operation = "pay",
    on_conflict = "wait",
    wait = "1m",
    skip(then)
)]
async fn pay_patiently(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
    then: impl AsyncFnOnce() -> Result<(), PayError>,
) -> Result<Paid, PayError> {
    let paid = insert(tx, key, cents).await?;
    then().await?;
    Ok(paid)
}

#[idempotent(
    namespace = "payments",
    operation = "pay",
    on_conflict = "wait",
    wait = "1s"
)]
async fn pay_soon(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_duplicate_replays_and_holds_no_connection_meanwhile() {
    let books = Books::open(JOURNALS[0], 2).await;
    let (key, gate) = (key("a"), Gate::default());
    let (first, second) = tokio::join!(
        pay_patiently(&books.pool, &key, 5, async || {
            gate.pass().await;
            Ok(())
        }),
        async {
            gate.reached().await;
            let second = pay_patiently(&books.pool, &key, 5, async || Ok(()));
            // The first call holds one of the pool's two connections. The other can be acquired
            // repeatedly while the second call waits; only then does the first continue.
            let others = async {
                for _ in 0..100 {
                    drop(books.pool.acquire().await.expect("a connection"));
                    tokio::task::yield_now().await;
                }
                gate.open();
            };
            tokio::join!(second, others).0
        }
    );
    let (first, second) = (first.expect("paid"), second.expect("paid"));
    assert!(!first.replayed() && second.replayed());
    assert_eq!(*first, *second);
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_duplicate_runs_when_the_first_has_failed() {
    let books = Books::open(JOURNALS[0], 2).await;
    let (key, gate) = (key("a"), Gate::default());
    let (first, second) = tokio::join!(
        pay_patiently(&books.pool, &key, 5, async || {
            gate.pass().await;
            Err(PayError::OutOfReach)
        }),
        async {
            gate.reached().await;
            let second = pay_patiently(&books.pool, &key, 5, async || Ok(()));
            let (second, ()) = tokio::join!(second, async { gate.open() });
            second
        }
    );
    assert!(matches!(first, Err(PayError::OutOfReach)));
    assert!(!second.expect("the second has paid").replayed());
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_over_is_in_flight() {
    let books = Books::open(JOURNALS[0], 2).await;
    let (key, gate) = (key("a"), Gate::default());
    let second = tokio::select! {
        _ = pay_patiently(&books.pool, &key, 5, async || {
            gate.pass().await;
            future::pending().await
        }) => unreachable!("the first never ends"),
        second = async {
            gate.reached().await;
            pay_soon(&books.pool, &key, 5).await
        } => second,
    };
    let error = refused(second);
    assert!(matches!(error, Error::InFlight { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_in_the_callers_open_transaction_is_waited_for() {
    for journal in JOURNALS {
        let books = Books::open(journal, 2).await;
        let options = books.db.options().clone().busy_timeout(Duration::ZERO);
        let impatient = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_lazy_with(options);
        let key = key("a");
        let mut competitor = books.pool.begin().await.expect("a transaction");
        let first = pay_patiently(&mut competitor, &key, 5, async || Ok(()))
            .await
            .expect("paid");
        let second = pay_patiently(&impatient, &key, 5, async || Ok(()));
        let commit = async {
            // Enough polls for a call that is refused at once to finish.
            for _ in 0..100 {
                drop(impatient.acquire().await.expect("a connection"));
                tokio::task::yield_now().await;
            }
            competitor.commit().await.expect("committed");
        };
        let (second, ()) = tokio::join!(second, commit);
        let second = second.expect("a replay");
        assert!(second.replayed());
        assert_eq!(*first, *second);
        assert_eq!(books.count(&key).await, (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_waiters_of_one_key_share_one_poller_and_after_a_rollback_one_of_them_runs() {
    const WAITERS: usize = 128;
    let books = Books::open(JOURNALS[0], 4).await;
    let (key, gate) = (key("a"), Gate::default());
    let mut waiting = JoinSet::new();
    let failing = pay_patiently(&books.pool, &key, 5, async || {
        gate.pass().await;
        Err(PayError::OutOfReach)
    });
    let others = async {
        gate.reached().await;
        for _ in 0..WAITERS {
            let (pool, key) = (books.pool.clone(), key.clone());
            waiting.spawn(async move { pay_patiently(&pool, &key, 5, async || Ok(())).await });
        }
        until_waiting(WAITERS).await;
        let before = observed().1;
        until_looked(5).await;
        // A poller each would have made that many looks by now.
        assert!(observed().1 - before < WAITERS as u64);
        assert_eq!(observed().0, WAITERS);
        gate.open();
    };
    let (failed, ()) = tokio::join!(failing, others);
    assert!(matches!(failed, Err(PayError::OutOfReach)));
    let mut fresh = 0;
    while let Some(paid) = waiting.join_next().await {
        fresh += usize::from(!paid.expect("it ends").expect("paid").replayed());
    }
    assert_eq!((fresh, observed().0), (1, 0));
    assert_eq!(books.count(&key).await, (1, 1));
}

/// The runtime of the call that came first ends, and its poller with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_is_answered_although_the_runtime_of_the_first_has_ended() {
    let books = Books::open(JOURNALS[0], 4).await;
    let (key, gate) = (key("a"), Gate::default());
    let elsewhere = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let wait = || {
        let (pool, key) = (books.pool.clone(), key.clone());
        async move { pay_patiently(&pool, &key, 5, async || Ok(())).await }
    };
    let first = pay_patiently(&books.pool, &key, 5, async || {
        gate.pass().await;
        Ok(())
    });
    let others = async {
        gate.reached().await;
        drop(elsewhere.spawn(wait()));
        until_waiting(1).await;
        let stays = tokio::spawn(wait());
        until_waiting(2).await;
        elsewhere.shutdown_background();
        until_waiting(1).await;
        until_looked(2).await;
        gate.open();
        stays.await.expect("it ends")
    };
    let (first, stays) = tokio::join!(first, others);
    assert!(!first.expect("paid").replayed());
    assert!(stays.expect("a replay").replayed());
    assert_eq!(books.count(&key).await, (1, 1));
}
