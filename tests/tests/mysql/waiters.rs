//! Calls that wait for one key: one poller looks it up for all of them.

use std::collections::BTreeMap;

use idem_runtime::waiters::observed;
use idem_runtime::{Error, IdempotencyKey, Replayable};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::mysql::payments::{Paid, Pay, PayError, pay, pay_in_vain, pay_patiently};
use idem_tests::mysql::{Options, Server, Shop, fresh_key};
use idem_tests::silence::QuietLink;
use idem_tests::waiting::{until_looked, until_waiting};
use sqlx::mysql::MySqlPoolOptions;
use sqlx::{MySqlPool, Row as _};
use tokio::task::JoinSet;

const CMD: Pay = Pay { amount: 1 };
const OTHER: Pay = Pay { amount: 2 };
const WAITERS: usize = 512;

type Paying = Result<Replayable<Paid>, PayError>;

fn wait(waiting: &mut JoinSet<Paying>, pool: &MySqlPool, key: &IdempotencyKey, calls: usize) {
    for _ in 0..calls {
        let (pool, key) = (pool.clone(), key.clone());
        waiting.spawn(async move { pay_patiently(&pool, &key, &CMD).await });
    }
}

/// Returns the server's counts of statements.
async fn counts(shop: &Shop) -> BTreeMap<String, u64> {
    let text = "SHOW GLOBAL STATUS WHERE variable_name IN \
                ('Com_begin', 'Com_insert', 'Com_select', 'Com_update', 'Threads_connected')";
    let mut conn = shop.database.connect().await;
    let rows = sqlx::raw_sql(text).fetch_all(&mut conn).await;
    let pair = |row: sqlx::mysql::MySqlRow| {
        let value: String = row.get_unchecked(1);
        (row.get_unchecked(0), value.parse().expect("a number"))
    };
    rows.expect("the server answers")
        .into_iter()
        .map(pair)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_waiters_of_one_key_cost_the_server_the_looks_of_one_and_no_transaction() {
    let server = Server::start(&Options::new()).expect("a server");
    let shop = Shop::open_on(&server, 2).await;
    let pool = shop.database.pool(8);
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let running = {
        let (pool, key) = (shop.pool.clone(), key.clone());
        tokio::spawn(async move { pay(&pool, &key, &CMD).await })
    };
    gate.entered().await;
    let mut waiting = JoinSet::new();
    wait(&mut waiting, &pool, &key, 1);
    until_waiting(1).await;
    wait(&mut waiting, &pool, &key, WAITERS - 1);
    until_waiting(WAITERS).await;
    until_looked(1).await;
    let (before, looks) = (counts(&shop).await, observed().1);
    until_looked(20).await;
    let (after, looks) = (counts(&shop).await, observed().1 - looks);
    for what in ["Com_begin", "Com_insert", "Com_update"] {
        assert_eq!(after[what], before[what], "{what}");
    }
    // One more look may be under way.
    let selects = after["Com_select"] - before["Com_select"];
    assert!(selects <= looks + 1, "{selects} SELECTs of {looks} looks");
    // The first call, the poller, and the connection that counts.
    assert!(after["Threads_connected"] <= 4, "{after:?}");
    assert_eq!(observed().0, WAITERS);
    let other = pay(&pool, &fresh_key(), &CMD).await;
    assert!(!other.expect("fresh").replayed());
    gate.open();
    let paid = running.await.expect("it ends").expect("paid");
    while let Some(replayed) = waiting.join_next().await {
        let replayed = replayed.expect("it ends").expect("a replay");
        assert!(replayed.replayed());
        assert_eq!(*replayed, *paid);
    }
    shop.assert_one_effect(&key).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_rollback_one_waiter_claims_and_the_others_go_on_waiting() {
    let shop = Shop::open(4).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let failing = {
        let (pool, key) = (shop.pool.clone(), key.clone());
        tokio::spawn(async move { pay_in_vain(&pool, &key, &CMD).await })
    };
    gate.entered().await;
    let mut waiting = JoinSet::new();
    wait(&mut waiting, &shop.pool, &key, 32);
    until_waiting(32).await;
    gate.open();
    failing.await.expect("it ends").expect_err("in vain");
    gate.entered().await;
    until_looked(5).await;
    assert_eq!(observed().0, 31);
    gate.open();
    let mut fresh = 0;
    while let Some(paid) = waiting.join_next().await {
        fresh += usize::from(!paid.expect("it ends").expect("paid").replayed());
    }
    assert_eq!(fresh, 1);
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn each_waiter_compares_its_own_request_with_the_record_that_all_are_shown() {
    let shop = Shop::open(4).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let calls = async {
        gate.entered().await;
        let same = pay_patiently(&shop.pool, &key, &CMD);
        let different = pay_patiently(&shop.pool, &key, &OTHER);
        let opened = async {
            until_waiting(2).await;
            gate.open();
        };
        tokio::join!(same, different, opened)
    };
    let (first, (same, different, ())) = tokio::join!(pay(&shop.pool, &key, &CMD), calls);
    assert!(!first.expect("fresh").replayed());
    assert!(same.expect("the same request").replayed());
    let refusal = different.expect_err("another amount").refusal();
    assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_connection_that_falls_silent_does_not_keep_the_waiters_waiting() {
    let server = Server::start(&Options::new()).expect("a server");
    let shop = Shop::open_on(&server, 2).await;
    let link = QuietLink::to("127.0.0.1".to_owned(), server.port()).await;
    let options = shop.database.options().clone();
    let uses = link.clone();
    let pool = MySqlPoolOptions::new()
        .max_connections(4)
        .before_acquire(move |_, _| {
            uses.used();
            Box::pin(async { Ok(true) })
        })
        .connect_lazy_with(options.host("127.0.0.1").port(link.port()));
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let first = {
        let (pool, key) = (shop.pool.clone(), key.clone());
        tokio::spawn(async move { pay(&pool, &key, &CMD).await })
    };
    gate.entered().await;
    let mut waiting = JoinSet::new();
    wait(&mut waiting, &pool, &key, 3);
    until_waiting(3).await;
    until_looked(2).await;
    link.silence_at_next_use().await;
    gate.open();
    let paid = first.await.expect("it ends").expect("paid");
    while let Some(replayed) = waiting.join_next().await {
        assert_eq!(*replayed.expect("it ends").expect("a replay"), *paid);
    }
    shop.assert_one_effect(&key).await;
}
