//! Bodies that leave a statement unfinished: no later statement gets the wrong answer.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::mysql::payments::{Paid, Pay, PayError, charge, pay};
use idem_tests::mysql::{Shop, fresh_key};
use idem_tests_cluster::Wire;
use sqlx::Executor as _;
use sqlx::mysql::{MySqlSslMode, MySqlTransaction};

const CMD: Pay = Pay { amount: 1 };

/// Leaves rows unread (of a prepared or a text statement), or drops a query before it is answered.
#[idempotent(
    namespace = "payments",
    operation = "pay",
    skip(reads, prepared, fails)
)]
async fn pay_and_leave(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    reads: bool,
    prepared: bool,
    fails: bool,
) -> Result<Paid, PayError> {
    let paid = charge(tx, key, cmd).await?;
    let numbers = "SELECT seq FROM seq_1_to_10000";
    let mut rows = if prepared {
        tx.fetch(sqlx::query(numbers))
    } else {
        tx.fetch(sqlx::raw_sql(numbers))
    };
    let row = poll_fn(|context| match rows.as_mut().poll_next(context) {
        Poll::Pending if !reads => Poll::Ready(None),
        polled => polled,
    })
    .await;
    assert!(!reads || row.is_some_and(|row| row.is_ok()));
    drop(rows);
    if fails {
        return Err(PayError::BankDown);
    }
    Ok(paid)
}

#[tokio::test]
async fn what_a_body_leaves_unread_is_no_fault_of_its_and_nobody_elses_answer() {
    let shop = Shop::open(1).await;
    let halves = [(true, true), (true, false), (false, false)];
    for ((reads, prepared), fails) in halves
        .into_iter()
        .flat_map(|half| [false, true].map(|fails| (half, fails)))
    {
        let at = format!("read: {reads}, prepared: {prepared}, failed: {fails}");
        let key = fresh_key();
        let paid = pay_and_leave(&shop.pool, &key, &CMD, reads, prepared, fails).await;
        assert_eq!(paid.is_err(), fails, "{at}: {paid:?}");
        for word in 0..5_i64 {
            let answer: i64 = sqlx::query_scalar("SELECT CAST(? AS SIGNED)")
                .bind(word)
                .fetch_one(&shop.pool)
                .await
                .unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_eq!(answer, word, "{at}");
        }
        let again = pay(&shop.pool, &key, &CMD).await;
        let again = again.unwrap_or_else(|error| panic!("{at}: {error:?}"));
        assert_eq!(again.replayed(), !fails, "{at}");
        shop.assert_one_effect(&key).await;
    }
}

/// A query is dropped while it is being prepared: the driver then does not count the server's
/// answer.
#[tokio::test]
async fn after_a_query_dropped_while_prepared_nothing_is_recorded_and_nobody_gets_anothers_answer()
{
    let mut shop = Shop::open(1).await;
    // No answer arrives before the first look.
    let options = shop.database.options().clone();
    let wire = Wire::to(options.get_port(), Duration::from_millis(20)).expect("a port");
    let options = options.host("127.0.0.1").port(wire.port());
    shop.pool = shop.pool_by(1, options.ssl_mode(MySqlSslMode::Disabled));
    for fails in [false, true] {
        let key = fresh_key();
        let left = pay_and_leave(&shop.pool, &key, &CMD, false, true, fails).await;
        match left.expect_err("nothing is recorded") {
            PayError::BankDown => assert!(fails),
            PayError::Idempotency(Error::StatementUnfinished(_)) => assert!(!fails),
            other => panic!("failed: {fails}: {other:?}"),
        }
        shop.assert_no_effect(&key).await;
        for word in 0..5_i64 {
            let answer: i64 = sqlx::query_scalar("SELECT CAST(? AS SIGNED)")
                .bind(word)
                .fetch_one(&shop.pool)
                .await
                .expect("its own answer");
            assert_eq!(answer, word, "failed: {fails}");
        }
        let again = pay(&shop.pool, &key, &CMD).await.expect("fresh");
        assert!(!again.replayed());
        shop.assert_one_effect(&key).await;
    }
}
