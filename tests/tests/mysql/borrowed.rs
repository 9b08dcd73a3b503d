//! Bodies that drop a query while the driver prepares it, on a connection that is the caller's: the call is
//! answered in time, and nobody gets an answer that is not his.

use std::future::{Future, poll_fn};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use idem_runtime::{Error, IdempotencyKey, Replayable, idempotent};
use idem_tests::mysql::payments::{Paid, Pay, PayError, charge, pay};
use idem_tests::mysql::{Shop, fresh_key};
use idem_tests::proxy::Proxy;
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions, MySqlTransaction};
use sqlx::{Connection, Executor as _, MySqlConnection};
use tokio::time::timeout;

const CMD: Pay = Pay { amount: 1 };

/// What a body does about a query that it drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Succeed,
    Fail,
    /// It drops it in a transaction of its own, and forgets that.
    Forget,
    /// It drops it in a transaction of its own, and drops that: the driver, which counts one answer for
    /// each, waits for one that never comes.
    Retreat,
}

const THEN: [Then; 4] = [Then::Succeed, Then::Fail, Then::Forget, Then::Retreat];

async fn leave(tx: &mut MySqlConnection, then: Then) -> Result<(), PayError> {
    let query = |conn: &mut MySqlConnection| {
        let asked = conn.execute(sqlx::query("SELECT 1, 2"));
        // The link is served by this very thread: no answer can have come.
        assert!(once(asked).is_pending());
    };
    match then {
        Then::Succeed => query(tx),
        Then::Fail => {
            query(tx);
            return Err(PayError::BankDown);
        }
        Then::Forget | Then::Retreat => {
            let mut inner = Connection::begin(tx).await?;
            query(&mut inner);
            if then == Then::Forget {
                mem::forget(inner);
            }
        }
    }
    Ok(())
}

fn once<F: Future>(future: F) -> Poll<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    pin!(future).as_mut().poll(&mut context)
}

#[idempotent(namespace = "payments", operation = "pay", skip(then))]
async fn pay_and_leave(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    then: Then,
) -> Result<Paid, PayError> {
    let paid = charge(tx, key, cmd).await?;
    leave(tx, then).await?;
    Ok(paid)
}

#[idempotent(
    namespace = "payments",
    operation = "pay",
    key = key,
    key_required = false,
    skip(name, then)
)]
async fn pay_without_key(
    tx: &mut MySqlTransaction<'_>,
    key: Option<&IdempotencyKey>,
    cmd: &Pay,
    name: &IdempotencyKey,
    then: Then,
) -> Result<Paid, PayError> {
    assert!(key.is_none());
    let paid = charge(tx, name, cmd).await?;
    leave(tx, then).await?;
    Ok(paid)
}

/// Long after the time that the library allows, and no measure of it: only what never ends comes to it.
async fn in_time<F: Future>(at: &str, future: F) -> F::Output {
    let done = timeout(Duration::from_mins(2), Box::pin(future)).await;
    done.unwrap_or_else(|_| panic!("{at}: no answer, and none to come"))
}

struct Counter {
    shop: Shop,
    link: Proxy<MySqlConnectOptions>,
}

impl Counter {
    async fn open() -> Self {
        let shop = Shop::open(1).await;
        let link = Proxy::to(shop.database.options()).await;
        Self { shop, link }
    }

    async fn connect(&self) -> MySqlConnection {
        let connected = MySqlConnection::connect_with(&self.link.options()).await;
        connected.expect("the server is there")
    }

    /// The caller closes the connection: nothing of the call is left, and its key is fresh.
    async fn settled(&self, pool: &MySqlPool, key: &IdempotencyKey, at: &str) {
        let mut observer = self.shop.observer().await;
        in_time(at, observer.until_no_transaction()).await;
        self.shop.assert_no_effect(key).await;
        let paid = in_time(at, pay(pool, key, &CMD)).await;
        assert!(!paid.expect("the key is fresh").replayed(), "{at}");
        self.shop.assert_one_effect(key).await;
    }
}

fn assert_told(answer: Result<Replayable<Paid>, PayError>, then: Then, at: &str) {
    match answer.expect_err("nothing is recorded") {
        PayError::BankDown => assert_eq!(then, Then::Fail, "{at}"),
        // The driver waits for an answer that never comes, as it would if the link were silent.
        PayError::Idempotency(refusal @ Error::Unavailable(_)) if then == Then::Retreat => {
            assert_says(&refusal, &["rolled back", "the body drops a query"], at);
        }
        PayError::Idempotency(refusal @ Error::StatementUnfinished(_)) => {
            assert_ne!(then, Then::Fail, "{at}");
            assert!(!refusal.is_retryable(), "{at}");
            assert_says(&refusal, &["nothing was recorded"], at);
        }
        other => panic!("{at}: {other:?}"),
    }
}

fn assert_says(refusal: &Error, words: &[&str], at: &str) {
    let text = refusal.to_string();
    for words in ["close a connection of your own", "wait for ever"]
        .iter()
        .chain(words)
    {
        assert!(text.contains(words), "{at}: {text}");
    }
}

/// The session is ended, unless the driver waits for ever: then nothing can be sent on it.
async fn assert_ended(conn: &mut MySqlConnection, then: Then, at: &str) {
    if then == Then::Retreat {
        return;
    }
    let next = in_time(at, caught(conn.execute("SELECT 1"))).await;
    assert!(
        matches!(next, Some(Err(sqlx::Error::Io(_)))),
        "{at}: {next:?}"
    );
}

/// The driver may panic over a packet of another kind than it expects.
async fn caught<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        polled.map_or(Poll::Ready(None), |polled| polled.map(Some))
    })
    .await
}

#[tokio::test]
async fn a_joined_call_whose_body_drops_a_query_while_prepared_is_answered_in_time() {
    let counter = Counter::open().await;
    for then in THEN {
        let (at, key) = (format!("{then:?}"), fresh_key());
        let mut conn = counter.connect().await;
        let mut tx = Connection::begin(&mut conn).await.expect("a transaction");
        let answer = in_time(&at, pay_and_leave(&mut tx, &key, &CMD, then)).await;
        assert_told(answer, then, &at);
        if then == Then::Retreat {
            // Neither does a later call wait for ever.
            let again = in_time(&at, pay(&mut tx, &fresh_key(), &CMD)).await;
            assert_told(again, then, &at);
        }
        assert_ended(&mut tx, then, &at).await;
        drop(tx);
        drop(conn);
        counter.settled(&counter.shop.pool, &key, &at).await;
    }
}

#[tokio::test]
async fn a_joined_call_without_a_key_whose_body_drops_a_query_while_prepared_is_answered_in_time() {
    let counter = Counter::open().await;
    for then in THEN {
        let (at, name) = (format!("{then:?}"), fresh_key());
        let mut conn = counter.connect().await;
        let mut tx = Connection::begin(&mut conn).await.expect("a transaction");
        let call = pay_without_key(&mut tx, None, &CMD, &name, then);
        assert_told(in_time(&at, call).await, then, &at);
        assert_ended(&mut tx, then, &at).await;
        drop(tx);
        drop(conn);
        counter.settled(&counter.shop.pool, &name, &at).await;
    }
}

/// On a connection of the caller's own, and on one that goes back to its pool: that one is closed.
#[tokio::test]
async fn a_call_on_a_connection_whose_body_drops_a_query_while_prepared_is_answered_in_time() {
    let counter = Counter::open().await;
    let pool = MySqlPoolOptions::new().max_connections(1);
    let pool = pool.connect_lazy_with(counter.link.options());
    for then in THEN {
        let (at, key) = (format!("{then:?}"), fresh_key());
        let mut conn = counter.connect().await;
        let answer = in_time(&at, pay_and_leave(&mut conn, &key, &CMD, then)).await;
        assert_told(answer, then, &at);
        assert_ended(&mut conn, then, &at).await;
        drop(conn);
        counter.settled(&counter.shop.pool, &key, &at).await;

        let key = fresh_key();
        let mut conn = pool.acquire().await.expect("a connection");
        let answer = in_time(&at, pay_and_leave(&mut conn, &key, &CMD, then)).await;
        assert_told(answer, then, &at);
        drop(conn);
        counter.settled(&pool, &key, &at).await;
    }
}
