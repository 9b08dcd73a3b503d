//! A lost primary, and the synchronous standby that replaces it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use idem_runtime::{Error, IdempotencyKey};
use idem_tests::patience::in_time;
use idem_tests::postgres::payments::{Pay, PayError, pay};
use idem_tests::postgres::{Cluster, Options, Shop};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::sync::watch;
use tokio::task::JoinSet;

const CMD: Pay = Pay { amount: 1 };

/// A primary with its shop, and the standby that must confirm each COMMIT.
async fn pair() -> (Cluster, Shop, Cluster) {
    let primary = Cluster::start(Options::new().set("synchronous_commit", "on")).unwrap();
    let shop = Shop::open_on(&primary, 1).await;
    let standby = Cluster::standby_of(&primary).unwrap();
    // Set after the copy was made: once promoted, the standby does not wait for another.
    shop.run("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        .await;
    shop.run("SELECT pg_reload_conf()").await;
    shop.observer()
        .await
        .until("EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
        .await;
    (primary, shop, standby)
}

/// Creates a pool with a short timeout for a lost server.
fn pool(cluster: &Cluster, shop: &Shop) -> PgPool {
    PgPoolOptions::new()
        .max_connections(4)
        .acquire_timeout(Duration::from_secs(1))
        .connect_lazy(&cluster.url(shop.database.name()))
        .unwrap()
}

fn key(text: &str) -> IdempotencyKey {
    text.parse::<IdempotencyKey>().unwrap().global()
}

/// The shared state of a running load.
struct Load {
    /// The server to call: the primary, until the standby is promoted.
    target: watch::Receiver<PgPool>,
    stop: watch::Receiver<bool>,
    answered: watch::Sender<usize>,
}

/// The answers that a client got (key and payment), and the number of failed calls.
#[derive(Default)]
struct History {
    answers: Vec<(String, i64)>,
    failures: usize,
}

/// Pays key after key, and retries each until it is answered. Two clients use the same sequence of
/// keys.
async fn client(number: usize, load: Arc<Load>) -> History {
    let mut history = History::default();
    for n in 0.. {
        if *load.stop.borrow() {
            break;
        }
        let key = key(&format!("{}-{n}", number / 2));
        loop {
            let target = load.target.borrow().clone();
            match pay(&target, &key, &CMD).await {
                Ok(paid) => {
                    history.answers.push((key.as_str().to_owned(), paid.id));
                    load.answered.send_modify(|count| *count += 1);
                    break;
                }
                Err(PayError::Idempotency(Error::InFlight { .. })) => {}
                Err(PayError::Idempotency(error)) if error.is_retryable() => history.failures += 1,
                // The body's own statement failed on a lost link.
                Err(PayError::Database(_)) => history.failures += 1,
                Err(error) => panic!("an answer that no caller may get: {error:?}"),
            }
            tokio::task::yield_now().await;
        }
    }
    history
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn when_the_standby_takes_over_nothing_answered_is_lost_and_nothing_runs_twice() {
    const CLIENTS: usize = 8;
    const SHARE: usize = 60;
    let (mut primary, shop, mut standby) = pair().await;
    let (switch, target) = watch::channel(pool(&primary, &shop));
    let (halt, halted) = watch::channel(false);
    let (answered, mut answers) = watch::channel(0);
    let load = Arc::new(Load {
        target,
        stop: halted,
        answered,
    });
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(client(number, Arc::clone(&load)));
    }
    let paid = answers.wait_for(|count| *count >= SHARE);
    in_time("too few payments", paid).await.unwrap();
    let (primary, mut standby) = tokio::task::spawn_blocking(move || {
        primary.stop_immediate().unwrap();
        standby.promote().unwrap();
        (primary, standby)
    })
    .await
    .unwrap();
    let promoted = pool(&standby, &shop);
    let before = *answers.borrow_and_update();
    switch.send_replace(promoted.clone());
    let paid = answers.wait_for(|count| *count >= before + SHARE);
    in_time("too few payments after the loss", paid)
        .await
        .unwrap();
    halt.send_replace(true);
    let histories = clients.join_all().await;
    let failures: usize = histories.iter().map(|history| history.failures).sum();
    assert!(failures > 0, "nobody noticed the loss");
    assert_eq!(violations(&promoted, &histories).await, BTreeSet::new());
    standby.stop().unwrap();
    drop(primary);
}

/// Returns every law that is broken on the new primary, one per line.
async fn violations(pool: &PgPool, histories: &[History]) -> BTreeSet<String> {
    let payments: Vec<(String, i64)> = sqlx::query_as("SELECT key, id FROM payment")
        .fetch_all(pool)
        .await
        .unwrap();
    let records: Vec<(String, i16)> = sqlx::query_as("SELECT key, status FROM idem_record")
        .fetch_all(pool)
        .await
        .unwrap();
    let mut effects: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for (key, id) in payments {
        effects.entry(key).or_default().push(id);
    }
    let mut broken = BTreeSet::new();
    for (key, ids) in &effects {
        if ids.len() != 1 {
            broken.insert(format!("{key} has {} effects", ids.len()));
        }
        if !records.contains(&(key.clone(), 1)) {
            broken.insert(format!("{key} has an effect and no record of it"));
        }
    }
    for (key, status) in &records {
        if !effects.contains_key(key) {
            broken.insert(format!(
                "{key} has a record in status {status} and no effect"
            ));
        }
    }
    for (key, id) in histories.iter().flat_map(|history| &history.answers) {
        if effects.get(key) != Some(&vec![*id]) {
            broken.insert(format!(
                "{key} was answered {id}, and that is not what is there"
            ));
        }
    }
    broken
}

/// The lost primary had committed and was waiting for the standby's confirmation. No client was
/// answered, the standby does not have the commit, and there the call runs for the first time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_the_standby_never_got_is_unknown_and_its_retry_runs_there() {
    let (mut primary, shop, mut standby) = pair().await;
    standby.stop().unwrap();
    let key = key("alone");
    let (old, asked) = (pool(&primary, &shop), key.clone());
    let call = tokio::spawn(async move { pay(&old, &asked, &CMD).await });
    shop.observer().await.until_waiting_for("SyncRep", 1).await;
    primary.stop_immediate().unwrap();
    let refusal = call.await.unwrap().unwrap_err().refusal();
    assert!(matches!(refusal, Error::CommitUnknown(_)), "{refusal:?}");
    assert!(refusal.is_retryable());
    standby.resume().unwrap();
    standby.promote().unwrap();
    let promoted = pool(&standby, &shop);
    let paid = pay(&promoted, &key, &CMD).await.unwrap();
    assert!(!paid.replayed());
    let again = pay(&promoted, &key, &CMD).await.unwrap();
    assert!(again.replayed());
    let history = History {
        answers: vec![(key.as_str().to_owned(), paid.id)],
        failures: 0,
    };
    assert_eq!(violations(&promoted, &[history]).await, BTreeSet::new());
}
