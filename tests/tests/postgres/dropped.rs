//! A call dropped at any await point leaves its key unused or completed, and its pool usable.

use std::future::{Future, poll_fn};
use std::task::Poll;

use idem_runtime::{Error, IdempotencyKey, Replayable, waiters};
use idem_tests::cut::MANY;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::payments::{Paid, Pay, PayError, fail_to_pay, pay, pay_patiently};
use idem_tests::postgres::{Observer, Shop, fresh_key};
use idem_tests::proxy::Proxy;
use sqlx::postgres::PgTransaction;
use sqlx::{Connection as _, PgConnection, PgPool};

const CMD: Pay = Pay { amount: 1 };

/// The moment at which a call is dropped.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// When it starts to wait: its message may not have reached the server yet.
    Waiting,
    /// When the awaited answer has arrived, before the call reads it.
    Woken,
}

const MOMENTS: [Moment; 2] = [Moment::Waiting, Moment::Woken];

/// Polls `call` at most `polls` times, once for each wake-up, and drops it. Returns `None` if it
/// has not finished by then.
async fn polled<F: Future>(call: F, polls: usize, moment: Moment) -> Option<F::Output> {
    let mut call = Box::pin(call);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match call.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if left == 0 && matches!(moment, Moment::Waiting) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// A shop behind a proxy that runs on the test's own thread. No answer can arrive before it is
/// awaited, so each wait for the server is a pending poll, under any load of the machine.
struct Counter {
    shop: Shop,
    observer: Observer,
    link: Proxy,
    pool: PgPool,
}

impl Counter {
    async fn open() -> Self {
        let shop = Shop::open(1).await;
        let observer = shop.observer().await;
        let link = Proxy::to(shop.database.options()).await;
        let pool = shop.pool_by(1, link.options());
        Self {
            shop,
            observer,
            link,
            pool,
        }
    }

    /// Asserts that the key is unused or completed, and that the next call leaves exactly one
    /// effect.
    async fn settled(&mut self, key: &IdempotencyKey, at: &str) {
        self.observer.until_no_transaction().await;
        let effects = self.shop.effects(key).await;
        assert!(effects == (0, 0) || effects == (1, 1), "{at}: {effects:?}");
        let paid = pay(&self.pool, key, &CMD).await;
        let paid = paid.unwrap_or_else(|error| panic!("{at}: {error:?}"));
        assert_eq!(paid.replayed(), effects == (1, 1), "{at}");
        self.shop.assert_one_effect(key).await;
    }
}

/// Runs the case with 0, 1, 2, ... polls until the call finishes.
macro_rules! at_every_await {
    (|$moment:ident, $polls:ident, $at:ident| $step:block) => {
        for $moment in MOMENTS {
            let mut $polls = 0;
            loop {
                assert!($polls < MANY, "{:?}: the call never ends", $moment);
                let $at = &*format!("{:?} after {} polls", $moment, $polls);
                if $step {
                    break;
                }
                $polls += 1;
            }
            assert!($polls > 2, "{:?}: too few awaits: {}", $moment, $polls);
        }
    };
}

#[tokio::test]
async fn dropped_at_every_await_on_a_pool_of_one() {
    let mut counter = Counter::open().await;
    at_every_await!(|moment, polls, at| {
        let key = fresh_key();
        let done = polled(pay(&counter.pool, &key, &CMD), polls, moment).await;
        counter.settled(&key, at).await;
        done.is_some()
    });
}

/// The first call on a connection verifies the table and prepares the statements.
#[tokio::test]
async fn dropped_at_every_await_on_a_connection_that_is_new() {
    let mut counter = Counter::open().await;
    at_every_await!(|moment, polls, at| {
        let key = fresh_key();
        counter.pool = counter.shop.pool_by(1, counter.link.options());
        drop(counter.pool.acquire().await.expect("a connection"));
        let done = polled(pay(&counter.pool, &key, &CMD), polls, moment).await;
        counter.settled(&key, at).await;
        done.is_some()
    });
}

/// Whether or not the first message raises an error, the call takes the plain path.
#[tokio::test]
async fn dropped_at_every_await_where_the_isolation_is_stricter() {
    let mut counter = Counter::open().await;
    let options = counter.link.options();
    let stricter = [("default_transaction_isolation", "serializable")];
    counter.pool = counter.shop.pool_by(1, options.options(stricter));
    at_every_await!(|moment, polls, at| {
        let key = fresh_key();
        let done = polled(pay(&counter.pool, &key, &CMD), polls, moment).await;
        counter.settled(&key, at).await;
        done.is_some()
    });
}

/// The waiter looks the key up, returns its connection to the pool, and waits. When it does, the running
/// attempt ends.
#[tokio::test]
async fn a_waiter_dropped_at_every_await() {
    let mut counter = Counter::open().await;
    at_every_await!(|moment, polls, at| {
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
        let (pool, asked) = (counter.shop.pool.clone(), key.clone());
        let competitor = tokio::spawn(async move { pay(&pool, &asked, &CMD).await.is_ok() });
        gate.entered().await;
        let mut gate = Some(gate);
        let mut call = Box::pin(pay_patiently(&counter.pool, &key, &CMD));
        let call = poll_fn(move |context| {
            let done = call.as_mut().poll(context);
            if waiters::observed().0 > 0 {
                gate.take();
            }
            done
        });
        let done = polled(call, polls, moment).await;
        assert_eq!(waiters::observed().0, 0, "{at}: it is out of the line");
        assert!(competitor.await.expect("it ends"), "{at}");
        counter.settled(&key, at).await;
        done.is_some_and(|paid| paid.expect("a replay").replayed())
    });
}

#[tokio::test]
async fn a_replay_dropped_at_every_await() {
    let mut counter = Counter::open().await;
    let key = fresh_key();
    pay(&counter.pool, &key, &CMD).await.expect("fresh");
    at_every_await!(|moment, polls, at| {
        let done = polled(pay(&counter.pool, &key, &CMD), polls, moment).await;
        counter.settled(&key, at).await;
        done.is_some()
    });
}

#[tokio::test]
async fn a_recorded_failure_dropped_at_every_await() {
    let mut counter = Counter::open().await;
    at_every_await!(|moment, polls, at| {
        let key = fresh_key();
        let call = fail_to_pay(&counter.pool, &key, &CMD, Some(51));
        let done = polled(call, polls, moment).await;
        counter.observer.until_no_transaction().await;
        let recorded = counter.shop.records(&key).await == 1;
        // The body fails with a different code: it shows in the answer if the body runs.
        let failed = fail_to_pay(&counter.pool, &key, &CMD, Some(99)).await;
        let expected = if recorded { 51 } else { 99 };
        match failed {
            Err(PayError::Declined { code }) => assert_eq!(code, expected, "{at}"),
            other => panic!("{at}: {other:?}"),
        }
        assert_eq!(counter.shop.effects(&key).await, (0, 1), "{at}");
        done.is_some()
    });
}

#[tokio::test]
async fn dropped_at_every_await_on_a_pooled_connection_that_goes_back_to_its_pool() {
    let mut counter = Counter::open().await;
    at_every_await!(|moment, polls, at| {
        let key = fresh_key();
        let mut connection = counter.pool.acquire().await.expect("the pool is usable");
        let done = polled(pay(&mut connection, &key, &CMD), polls, moment).await;
        drop(connection);
        counter.settled(&key, at).await;
        done.is_some()
    });
}

#[tokio::test]
async fn dropped_at_every_await_on_a_connection_that_is_used_again() {
    let mut counter = Counter::open().await;
    at_every_await!(|moment, polls, at| {
        let key = fresh_key();
        let options = counter.link.options();
        let mut connection = PgConnection::connect_with(&options).await.expect(at);
        let done = polled(pay(&mut connection, &key, &CMD), polls, moment).await;
        // BEGIN may have been cut off: then the next call returns an error and ends the
        // transaction.
        let mut paid = pay(&mut connection, &key, &CMD).await;
        if let Err(PayError::Idempotency(Error::AlreadyInTransaction)) = paid {
            paid = pay(&mut connection, &key, &CMD).await;
        }
        let paid: Replayable<Paid> = paid.unwrap_or_else(|error| panic!("{at}: {error:?}"));
        assert!(done.is_none() || paid.replayed(), "{at}");
        counter.settled(&key, at).await;
        done.is_some()
    });
}

/// Body and record commit or roll back with the caller's transaction, which stays usable.
#[tokio::test]
async fn dropped_at_every_await_in_the_callers_transaction() {
    let mut counter = Counter::open().await;
    at_every_await!(|moment, polls, at| {
        let key = fresh_key();
        let mut tx = counter.pool.begin().await.expect("the pool is usable");
        let own = fresh_key();
        note(&mut tx, &own).await.expect("the server answers");
        let done = polled(pay(&mut tx, &key, &CMD), polls, moment).await;
        let noted = note(&mut tx, &own).await.is_ok();
        let committed = tx.commit().await.is_ok();
        assert!(done.is_none() || noted && committed, "{at}");
        // If the call is dropped during RELEASE SAVEPOINT, the caller's transaction is lost: its
        // next statement returns an error, and nothing of it is committed.
        let kept = if noted && committed { 2 } else { 0 };
        assert_eq!(counter.shop.payments(&own).await, kept, "{at}");
        counter.settled(&key, at).await;
        done.is_some()
    });
}

/// Writes a row as the caller.
async fn note(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO payment (key, amount) VALUES ($1, 1)")
        .bind(key.as_str())
        .execute(&mut **tx)
        .await
        .map(drop)
}
