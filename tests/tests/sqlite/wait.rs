//! Duplicates under `on_conflict = "wait"`.

use std::future;
use std::time::Duration;

use idem_runtime::{Error, IdempotencyKey, idempotent};
use sqlx::sqlite::{SqlitePoolOptions, SqliteTransaction};

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
