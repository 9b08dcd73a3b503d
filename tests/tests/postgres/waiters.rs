//! Calls that wait for one key: one poller looks it up for all of them.

use std::sync::Arc;

use idem_runtime::{Error, IdempotencyKey, Replayable, idempotent, waiters};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::payments::{
    Paid, Pay, PayError, charge, pay, pay_in_vain, pay_patiently,
};
use idem_tests::postgres::{Cluster, Options, Shop, fresh_key};
use idem_tests::silence::QuietLink;
use idem_tests::waiting::{until_looked, until_waiting};
use sqlx::PgPool;
use sqlx::postgres::{PgPoolOptions, PgTransaction};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

const CMD: Pay = Pay { amount: 1 };
const OTHER: Pay = Pay { amount: 2 };
const WAITERS: usize = 512;

type Paying = Result<Replayable<Paid>, PayError>;

/// A server that logs every statement, with a call that holds its key and a pool for those who wait.
struct Counter {
    shop: Shop,
    key: IdempotencyKey,
    pool: PgPool,
    waiting: JoinSet<Paying>,
    _cluster: Cluster,
}

impl Counter {
    async fn open(connections: u32) -> Self {
        let logged = Options::new()
            .set("log_statement", "all")
            .set("log_line_prefix", "%a|");
        let cluster = Cluster::start(logged).expect("a server");
        let shop = Shop::open_on(&cluster, 2).await;
        let options = shop.database.options().clone().application_name("waiters");
        let counter = Self {
            pool: shop.pool_by(connections, options),
            shop,
            key: fresh_key(),
            waiting: JoinSet::new(),
            _cluster: cluster,
        };
        counter.warm_up(connections).await;
        counter
    }

    /// Lets each connection of the pool prepare its statements.
    async fn warm_up(&self, connections: u32) {
        let mut calls = Vec::new();
        for _ in 0..connections {
            let key = fresh_key();
            calls.push((Gate::at(key.as_str(), GatePoint::AfterWrite), {
                let pool = self.pool.clone();
                tokio::spawn(async move { pay(&pool, &key, &CMD).await.is_ok() })
            }));
        }
        for (gate, _) in &calls {
            gate.entered().await;
        }
        for (gate, call) in calls {
            drop(gate);
            assert!(call.await.expect("it ends"));
        }
    }

    fn wait(&mut self, calls: usize) {
        for _ in 0..calls {
            let (pool, key) = (self.pool.clone(), self.key.clone());
            self.waiting
                .spawn(async move { pay_patiently(&pool, &key, &CMD).await });
        }
    }

    /// Returns the lines that the waiters' pool has written into the server's log since the line `from`.
    async fn lines(&self, from: usize) -> Vec<String> {
        let log: String = sqlx::query_scalar(
            "SELECT pg_read_file(current_setting('data_directory') || '/../server.log')",
        )
        .fetch_one(&mut self.shop.database.connect().await)
        .await
        .expect("a superuser reads the log");
        let lines = log.lines().filter(|line| line.starts_with("waiters|"));
        lines.skip(from).map(str::to_owned).collect()
    }

    /// Awaits all calls, which must replay the same payment.
    async fn all_replay(&mut self, paid: &Paid) {
        while let Some(replayed) = self.waiting.join_next().await {
            let replayed = replayed.expect("it ends").expect("a replay");
            assert!(replayed.replayed());
            assert_eq!(*replayed, *paid);
        }
        assert_eq!(waiters::observed().0, 0);
        self.shop.assert_one_effect(&self.key).await;
    }
}

fn count(lines: &[String], what: &str) -> usize {
    lines.iter().filter(|line| line.contains(what)).count()
}

/// Starts a call that stops at its gate.
async fn running(shop: &Shop, key: &IdempotencyKey) -> (Gate, JoinHandle<Paying>) {
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let (pool, key) = (shop.pool.clone(), key.clone());
    let running = tokio::spawn(async move { pay(&pool, &key, &CMD).await });
    gate.entered().await;
    (gate, running)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_waiters_of_one_key_cost_the_server_the_looks_of_one_and_no_transaction() {
    let mut counter = Counter::open(8).await;
    let (gate, first) = running(&counter.shop, &counter.key).await;
    counter.wait(1);
    until_waiting(1).await;
    counter.wait(WAITERS - 1);
    until_waiting(WAITERS).await;
    until_looked(1).await;
    let (from, looks) = (counter.lines(0).await.len(), waiters::observed().1);
    until_looked(20).await;
    let (lines, looks) = (counter.lines(from).await, waiters::observed().1 - looks);
    let asked = u64::try_from(count(&lines, "LOG:")).expect("a count");
    assert_eq!(
        count(&lines, "LOG:"),
        count(&lines, "pg_locks"),
        "{lines:#?}"
    );
    // One more look may be under way.
    assert!(
        (looks..=looks + 1).contains(&asked),
        "{looks} looks: {lines:#?}"
    );
    assert_eq!(count(&lines, "ERROR"), 0, "{lines:#?}");
    // Another key has the pool to itself.
    let other = pay(&counter.pool, &fresh_key(), &CMD).await;
    assert!(!other.expect("fresh").replayed());
    assert_eq!(waiters::observed().0, WAITERS);
    gate.open();
    let paid = first.await.expect("it ends").expect("paid");
    counter.all_replay(&paid).await;
    // Only the first of them has tried to claim.
    let lines = counter.lines(from).await;
    assert_eq!(count(&lines, "ERROR"), 0, "{lines:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_waiters_that_come_at_once_no_more_try_than_there_are_connections() {
    const CONNECTIONS: u32 = 4;
    let mut counter = Counter::open(CONNECTIONS).await;
    let from = counter.lines(0).await.len();
    let (gate, first) = running(&counter.shop, &counter.key).await;
    counter.wait(WAITERS);
    until_waiting(WAITERS).await;
    let lines = counter.lines(from).await;
    // With some more for connections that change hands as the first of them get into the line.
    let tries = 2 * usize::try_from(CONNECTIONS).expect("a few");
    assert!(
        count(&lines, "BEGIN") <= tries,
        "{}",
        count(&lines, "BEGIN")
    );
    gate.open();
    let paid = first.await.expect("it ends").expect("paid");
    counter.all_replay(&paid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_rollback_one_waiter_claims_and_the_others_go_on_waiting() {
    let mut counter = Counter::open(4).await;
    let gate = Gate::at(counter.key.as_str(), GatePoint::AfterWrite);
    let failing = {
        let (pool, key) = (counter.shop.pool.clone(), counter.key.clone());
        tokio::spawn(async move { pay_in_vain(&pool, &key, &CMD).await })
    };
    gate.entered().await;
    counter.wait(1);
    until_waiting(1).await;
    counter.wait(31);
    until_waiting(32).await;
    let from = counter.lines(0).await.len();
    gate.open();
    let failed = failing.await.expect("it ends");
    assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
    gate.entered().await;
    until_looked(5).await;
    assert_eq!(waiters::observed().0, 31);
    let lines = counter.lines(from).await;
    assert_eq!(count(&lines, "BEGIN"), 1, "{lines:#?}");
    assert_eq!(count(&lines, "ERROR"), 0, "{lines:#?}");
    gate.open();
    let mut fresh = 0;
    while let Some(paid) = counter.waiting.join_next().await {
        let paid = paid.expect("it ends").expect("paid");
        fresh += usize::from(!paid.replayed());
    }
    assert_eq!(fresh, 1);
    counter.shop.assert_one_effect(&counter.key).await;
}

#[tokio::test]
async fn each_waiter_compares_its_own_request_with_the_record_that_all_are_shown() {
    let shop = Shop::open(4).await;
    let key = fresh_key();
    let (gate, first) = running(&shop, &key).await;
    let same = pay_patiently(&shop.pool, &key, &CMD);
    let different = pay_patiently(&shop.pool, &key, &OTHER);
    let opened = async {
        until_waiting(2).await;
        gate.open();
    };
    let (same, different, ()) = tokio::join!(same, different, opened);
    assert!(same.expect("the same request").replayed());
    let refusal = different.expect_err("another amount").refusal();
    assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
    first.await.expect("it ends").expect("paid");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn the_waiter_that_came_first_may_go_and_the_others_are_answered() {
    let shop = Shop::open(4).await;
    let key = fresh_key();
    let (gate, first) = running(&shop, &key).await;
    let wait = || {
        let (pool, key) = (shop.pool.clone(), key.clone());
        tokio::spawn(async move { pay_patiently(&pool, &key, &CMD).await })
    };
    let leaves = wait();
    until_waiting(1).await;
    let stays = wait();
    until_waiting(2).await;
    leaves.abort();
    until_waiting(1).await;
    until_looked(3).await;
    gate.open();
    let paid = first.await.expect("it ends").expect("paid");
    let replayed = stays.await.expect("it ends").expect("a replay");
    assert_eq!(*replayed, *paid);
    shop.assert_one_effect(&key).await;
}

/// A waiter that nobody polls while it is its turn, as in a `select!` whose other branch is busy.
#[tokio::test]
async fn a_waiter_that_is_not_polled_in_its_turn_does_not_hold_the_others_up_for_ever() {
    let shop = Shop::open(4).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let failing = {
        let (pool, key) = (shop.pool.clone(), key.clone());
        tokio::spawn(async move { pay_in_vain(&pool, &key, &CMD).await })
    };
    gate.entered().await;
    let mut unpolled = Box::pin(pay_patiently(&shop.pool, &key, &CMD));
    tokio::select! {
        _ = &mut unpolled => panic!("the key is held"),
        () = until_waiting(1) => {}
    }
    let other = {
        let (pool, key) = (shop.pool.clone(), key.clone());
        tokio::spawn(async move { pay_patiently(&pool, &key, &CMD).await })
    };
    until_waiting(2).await;
    drop(gate);
    failing.await.expect("it ends").expect_err("in vain");
    let paid = other.await.expect("it ends").expect("the key was free");
    assert!(!paid.replayed());
    let replayed = unpolled.await.expect("recorded by then");
    assert_eq!(*replayed, *paid);
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_connection_that_falls_silent_does_not_keep_the_waiters_waiting() {
    let shop = Shop::open(2).await;
    let key = fresh_key();
    let options = shop.database.options().clone();
    let link = QuietLink::to(options.get_host().to_owned(), options.get_port()).await;
    let uses = link.clone();
    let pool = PgPoolOptions::new()
        .max_connections(4)
        .before_acquire(move |_, _| {
            uses.used();
            Box::pin(async { Ok(true) })
        })
        .connect_lazy_with(options.host("127.0.0.1").port(link.port()));
    let (gate, first) = running(&shop, &key).await;
    let waiting = {
        let (pool, key) = (pool.clone(), key.clone());
        tokio::spawn(async move { pay_patiently(&pool, &key, &CMD).await })
    };
    until_waiting(1).await;
    until_looked(2).await;
    let opened = link.opened();
    link.silence_at_next_use().await;
    gate.open();
    let paid = first.await.expect("it ends").expect("paid");
    let replayed = waiting.await.expect("it ends").expect("a replay");
    assert_eq!(*replayed, *paid);
    assert!(link.opened() > opened, "by another connection");
    shop.assert_one_effect(&key).await;
}

#[idempotent(
    namespace = "payments",
    operation = "pay",
    on_conflict = "wait",
    wait = "1s"
)]
async fn pay_hastily(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

/// The connections of a pool that hands out as many as there are permits, once they are limited.
fn limited_pool(shop: &Shop, permits: &Arc<Semaphore>) -> PgPool {
    let permits = Arc::clone(permits);
    let options = PgPoolOptions::new().max_connections(1);
    options
        .before_acquire(move |_, _| {
            let permits = Arc::clone(&permits);
            Box::pin(async move {
                let permit = permits.acquire().await.expect("it is never closed");
                permit.forget();
                Ok(true)
            })
        })
        .connect_lazy_with(shop.database.options().clone())
}

#[tokio::test]
async fn the_deadline_of_a_wait_bounds_the_queue_for_a_connection() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let failing = {
        let (pool, key) = (shop.pool.clone(), key.clone());
        tokio::spawn(async move { pay_in_vain(&pool, &key, &CMD).await })
    };
    gate.entered().await;
    // A connection that is new needs no permit: the first attempt has one, and no look has.
    let permits = Arc::new(Semaphore::new(0));
    let pool = limited_pool(&shop, &permits);
    let waiting = {
        let (pool, key) = (pool.clone(), key.clone());
        tokio::spawn(async move { pay_hastily(&pool, &key, &CMD).await })
    };
    until_waiting(1).await;
    gate.open();
    failing.await.expect("it ends").expect_err("in vain");
    // One look, which finds the key free; the waiter's own claim gets no connection.
    permits.add_permits(1);
    let refusal = waiting
        .await
        .expect("it ends")
        .expect_err("no time is left");
    let refusal = refusal.refusal();
    assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
    assert_eq!(shop.effects(&key).await, (0, 0));
}
