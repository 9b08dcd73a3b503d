//! Bodies that leave a statement unfinished: the connection's answers may no longer match its
//! statements, and no caller gets such an answer.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge, pay};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::postgres::PgTransaction;
use sqlx::{Acquire as _, Executor as _, PgConnection};

const CMD: Pay = Pay { amount: 1 };

/// A statement that a body leaves unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    /// A COPY that is neither finished nor aborted.
    CopyIn,
    /// A COPY with data sent, neither finished nor aborted.
    CopyInData,
    /// A COPY that is dropped before the server has answered.
    CopyInUnanswered,
    /// The output stream of a COPY, of which nothing is read.
    CopyOut,
    /// The output stream of a COPY that exceeds the network buffers, of which nothing is read.
    CopyOutLong,
    /// A COPY that the server refuses.
    CopyOutRefused,
    /// The rows of a query, of which one is read.
    Rows,
    /// A query that is dropped before it is answered.
    Query,
    /// A query that is dropped before it is completely sent.
    QueryLong,
}

const COPIES: [Half; 6] = [
    Half::CopyIn,
    Half::CopyInData,
    Half::CopyInUnanswered,
    Half::CopyOut,
    Half::CopyOutLong,
    Half::CopyOutRefused,
];

async fn once<F: Future>(future: F) {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _ = future.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}

async fn leave(half: Half, tx: &mut PgConnection) -> Result<(), sqlx::Error> {
    match half {
        Half::CopyIn => drop(tx.copy_in_raw("COPY payment (key) FROM STDIN").await?),
        Half::CopyInData => {
            let mut copy = tx
                .copy_in_raw("COPY payment (key, amount) FROM STDIN")
                .await?;
            copy.send(&b"half\t1\nhal"[..]).await?;
        }
        Half::CopyInUnanswered => once(tx.copy_in_raw("COPY payment (key) FROM STDIN")).await,
        Half::CopyOut => drop(tx.copy_out_raw("COPY payment TO STDOUT").await?),
        Half::CopyOutLong => drop(
            tx.copy_out_raw(
                "COPY (SELECT repeat('x', 8000) FROM generate_series(1, 2000)) TO STDOUT",
            )
            .await?,
        ),
        Half::CopyOutRefused => drop(tx.copy_out_raw("COPY nothing TO STDOUT").await?),
        Half::Rows => {
            let mut rows = tx.fetch(sqlx::query("SELECT * FROM generate_series(1, 10000)"));
            let row = poll_fn(|context| rows.as_mut().poll_next(context)).await;
            assert!(row.is_some_and(|row| row.is_ok()));
        }
        Half::QueryLong => {
            let text = format!("SELECT length('{}')", "x".repeat(8 << 20));
            once(tx.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(text)))).await;
        }
        Half::Query => once(tx.execute(sqlx::query("SELECT count(*) FROM payment"))).await,
    }
    Ok(())
}

/// How the body continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It returns normally.
    Succeed,
    /// It sends another statement and ignores its error.
    Swallow,
    /// It leaves the statement unfinished inside a nested transaction, drops that, and pays again.
    Retreat,
    Fail,
}

const THEN: [Then; 4] = [Then::Succeed, Then::Swallow, Then::Retreat, Then::Fail];

#[idempotent(namespace = "payments", operation = "pay", skip(half, then))]
async fn pay_and_leave(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    half: Half,
    then: Then,
) -> Result<Paid, PayError> {
    let mut paid = charge(tx, key, cmd).await?;
    if then == Then::Retreat {
        let mut inner = tx.begin().await?;
        let _ = leave(half, &mut inner).await;
        let _ = inner.rollback().await;
        if let Ok(again) = charge(tx, key, cmd).await {
            paid = again;
        }
    } else {
        leave(half, tx).await?;
    }
    if then == Then::Swallow {
        let _ = tx.execute("SELECT 1").await;
    }
    match then {
        Then::Fail => Err(PayError::BankDown),
        _ => Ok(paid),
    }
}

/// The next user of the connection gets its own answers, or an error.
async fn assert_own_answers(connection: &mut PgConnection, at: &str, may_be_dead: bool) {
    for number in 0..5_i32 {
        let answer = sqlx::query_scalar::<_, i32>("SELECT $1::int")
            .bind(number)
            .persistent(false)
            .fetch_one(&mut *connection)
            .await;
        match answer {
            Ok(answer) => assert_eq!(answer, number, "{at}"),
            Err(error) => assert!(may_be_dead, "{at}: {error:?}"),
        }
    }
}

fn assert_told(answer: &Result<idem_runtime::Replayable<Paid>, PayError>, at: &str) {
    match answer {
        Ok(paid) => assert!(!paid.replayed(), "{at}"),
        Err(PayError::Idempotency(error)) => {
            assert!(!error.is_retryable(), "{at}: {error:?}");
            if let Error::StatementUnfinished(_) = error {
                let text = error.to_string();
                assert!(
                    text.contains("finish") && text.contains("rolled back"),
                    "{text}"
                );
            }
        }
        Err(PayError::BankDown | PayError::Database(_)) => {}
        Err(other) => panic!("{at}: {other:?}"),
    }
}

#[tokio::test]
async fn a_copy_that_the_body_neither_finished_nor_aborted_is_told_and_not_to_be_retried() {
    for half in [Half::CopyIn, Half::CopyInData] {
        let shop = Shop::open(1).await;
        for _ in 0..2 {
            let key = fresh_key();
            let refusal = pay_and_leave(&shop.pool, &key, &CMD, half, Then::Succeed).await;
            let refusal = refusal.expect_err("it is not done").refusal();
            assert!(
                matches!(refusal, Error::StatementUnfinished(_)),
                "{half:?}: {refusal:?}"
            );
            assert!(!refusal.is_retryable());
            shop.assert_no_effect(&key).await;
            pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
            shop.assert_one_effect(&key).await;
        }
    }
}

#[tokio::test]
async fn whatever_a_body_leaves_half_way_no_later_user_of_the_pool_gets_an_answer_that_is_not_his()
{
    let halves = COPIES
        .into_iter()
        .chain([Half::Rows, Half::Query, Half::QueryLong]);
    for (half, then) in halves.flat_map(|half| THEN.map(|then| (half, then))) {
        let shop = Shop::open(1).await;
        let at = format!("{half:?}, {then:?}");
        for _ in 0..2 {
            let key = fresh_key();
            let answer = pay_and_leave(&shop.pool, &key, &CMD, half, then).await;
            assert_told(&answer, &at);
            let mut connection = shop.pool.acquire().await.expect("a connection");
            assert_own_answers(&mut connection, &at, false).await;
            drop(connection);
            let (payments, records) = shop.effects(&key).await;
            assert_eq!(answer.is_ok(), records == 1, "{at}: {answer:?}");
            assert_eq!(payments > 0, records == 1, "{at}: {answer:?}");
            let again = pay(&shop.pool, &key, &CMD).await;
            let again = again.unwrap_or_else(|error| panic!("{at}: {error:?}"));
            assert_eq!(again.replayed(), answer.is_ok(), "{at}");
            if let Ok(paid) = answer {
                assert_eq!(*paid, *again, "{at}");
            }
        }
    }
}

#[tokio::test]
async fn what_a_query_leaves_unread_is_no_fault_of_its_body() {
    let shop = Shop::open(1).await;
    for half in [Half::Rows, Half::Query, Half::QueryLong] {
        for _ in 0..2 {
            let key = fresh_key();
            let paid = pay_and_leave(&shop.pool, &key, &CMD, half, Then::Succeed).await;
            assert!(!paid.expect("the driver reads it").replayed());
            shop.assert_one_effect(&key).await;
        }
    }
}

#[tokio::test]
async fn a_callers_connection_that_a_body_left_out_of_step_answers_no_one_wrongly() {
    for (half, then) in COPIES
        .into_iter()
        .flat_map(|half| THEN.map(|then| (half, then)))
    {
        for joined in [false, true] {
            let shop = Shop::open(1).await;
            let at = format!("{half:?}, {then:?}, in a transaction: {joined}");
            let key = fresh_key();
            let mut connection = shop.database.connect().await;
            let answer = if joined {
                let mut tx = connection.begin().await.expect("a transaction");
                let answer = pay_and_leave(&mut tx, &key, &CMD, half, then).await;
                assert_own_answers(&mut tx, &at, true).await;
                let committed = tx.commit().await;
                assert!(committed.is_ok() || answer.is_err(), "{at}");
                answer
            } else {
                pay_and_leave(&mut connection, &key, &CMD, half, then).await
            };
            assert_told(&answer, &at);
            assert_own_answers(&mut connection, &at, true).await;
            let (payments, records) = shop.effects(&key).await;
            assert_eq!(payments > 0, records == 1, "{at}: {answer:?}");
        }
    }
}
