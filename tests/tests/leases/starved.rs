//! Leases with a pool that has no free connection, and with many concurrent runs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::{Attempt, LeasedOperation, Operation, Replayable};
use idem_tests::patience::in_time;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection as _, Database, Executor as _, Pool, pool::PoolConnection};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::database::{LeaseDatabase, MySql, Postgres};
use crate::desk::{Desk, MailError, Sent, Then, fresh_key};

/// Long enough that a busy machine sends each heartbeat in time, at each third of it.
const LEASE: Duration = Duration::from_secs(12);
const BRIEF: LeasedOperation = Operation::new("mail", "brief").lease(LEASE, OnLapse::Retry);

/// The pause between two looks at the records, which leaves the processor to the heartbeats.
const PACE: Duration = Duration::from_millis(5);

/// Longer than one lease: without heartbeats it would lapse.
const SEVERAL: usize = 5;

type Run = JoinHandle<Result<Replayable<Sent>, MailError>>;

fn begin<Db: idem_runtime::store::LeaseBackend>(pool: &Pool<Db>, desk: &Desk) -> Run {
    let (pool, desk, key) = (pool.clone(), desk.clone(), fresh_key());
    tokio::spawn(async move {
        BRIEF
            .run(&pool, &key, &1, move |attempt| async move {
                desk.deliver(&attempt).await
            })
            .await
    })
}

/// Acquires every connection that the pool may have.
async fn exhaust<Db: Database>(pool: &Pool<Db>) -> Vec<PoolConnection<Db>> {
    let mut all = Vec::new();
    for _ in 0..pool.options().get_max_connections() {
        all.push(pool.acquire().await.expect("a connection"));
    }
    all
}

pub(crate) async fn a_lease_lives_and_ends_while_other_bodies_hold_every_connection<
    H: LeaseDatabase,
>() {
    let (database, desk) = (H::open().await, Desk::new(&[Then::Wait]));
    let pool = database.pool();
    let run = begin(&pool, &desk);
    let attempt = desk.reached().await;
    let bodies = exhaust(&pool).await;
    let mut ends = BTreeSet::new();
    in_time("the lease is not extended", async {
        while ends.len() < SEVERAL {
            ends.extend(database.ends().await);
            assert!(!attempt.is_lost(), "lapsed after {} ends", ends.len());
            sleep(PACE).await;
        }
    })
    .await;
    desk.open();
    let sent = run.await.expect("no panic").expect("it is recorded");
    assert_eq!((sent.number, sent.replayed()), (1, false));
    assert_eq!(database.only_status().await, 1);
    drop(bodies);
}

pub(crate) async fn leases_that_are_due_together_are_extended_together<H: LeaseDatabase>() {
    const LEASES: usize = 60;
    let (database, desk) = (H::open().await, Desk::new(&[Then::Wait; LEASES]));
    let mut runs = JoinSet::new();
    for _ in 0..LEASES {
        let (pool, desk, key) = (database.pool(), desk.clone(), fresh_key());
        runs.spawn(async move {
            let body = async move |attempt| desk.deliver(&attempt).await;
            BRIEF.run(&pool, &key, &1, body).await
        });
    }
    let mut attempts = Vec::new();
    for _ in 0..LEASES {
        attempts.push(desk.reached().await);
    }
    let claimed = database.ends().await;
    assert_eq!(claimed.len(), LEASES);
    let extended = in_time("not every lease is extended", async {
        loop {
            let ends = database.ends().await;
            assert!(
                attempts.iter().all(|attempt| !attempt.is_lost()),
                "a lease has lapsed"
            );
            sleep(PACE).await;
            let mut pairs = ends.iter().zip(&claimed);
            if pairs.all(|(end, claimed)| end != claimed) {
                break ends;
            }
        }
    })
    .await;
    let statements = extended.iter().collect::<BTreeSet<_>>().len();
    assert!(statements <= LEASES / 4, "{statements} for {LEASES} leases");
    for _ in 0..LEASES {
        desk.open();
    }
    while let Some(run) = runs.join_next().await {
        run.expect("no panic").expect("it is recorded");
    }
}

fn assert_one_is_alive(attempts: &[Attempt]) {
    let is_alive = attempts.iter().any(|attempt| !attempt.is_lost());
    assert!(is_alive, "both leases have lapsed");
}

/// Two leases, with the record of the first locked by `conn`; both stay alive.
macro_rules! beside_a_locked_record {
    ($database:expr, $conn:expr, $($lock:literal),+) => {{
        let (database, mut conn) = ($database, $conn);
        let desk = Desk::new(&[Then::Wait, Then::Wait]);
        let runs = [begin(&database.pool(), &desk), begin(&database.pool(), &desk)];
        let attempts = [desk.reached().await, desk.reached().await];
        let claimed = database.ends().await;
        for lock in [$($lock),+] {
            conn.execute(lock).await.expect("locked");
        }
        in_time("the other lease is not extended", async {
            let mut ends = BTreeSet::new();
            while ends.len() < SEVERAL {
                ends.insert(database.ends().await[1]);
                assert_one_is_alive(&attempts);
                sleep(PACE).await;
            }
        })
        .await;
        conn.execute("ROLLBACK").await.expect("ended");
        assert_one_is_alive(&attempts);
        // No other attempt has taken the locked one: it is extended as soon as the lock is
        // released.
        for attempt in &attempts {
            let extended = in_time("the record stays locked", attempt.heartbeat()).await;
            extended.expect("it is ours still");
        }
        assert_ne!(database.ends().await[0], claimed[0]);
        for _ in &runs {
            desk.open();
        }
        for run in runs {
            run.await.expect("no panic").expect("it is recorded");
        }
        conn.close().await.expect("it answers");
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_record_lapses_no_other_lease_on_postgres() {
    let database = Postgres::open().await;
    let conn = database.database.connect().await;
    beside_a_locked_record!(
        database,
        conn,
        "BEGIN",
        "SELECT key FROM idem_record ORDER BY key LIMIT 1 FOR UPDATE"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_record_lapses_no_other_lease_on_mysql() {
    let database = MySql::open().await;
    let conn = database.database.connect().await;
    beside_a_locked_record!(
        database,
        conn,
        "SET @first = (SELECT min(`key`) FROM idem_record)",
        "START TRANSACTION",
        // By the whole primary key: no other record is locked.
        "SELECT 1 FROM idem_record WHERE namespace = 'mail' AND scope = '' AND `key` = @first FOR UPDATE"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_written_lapses_no_other_lease() {
    let (database, desk) = (Postgres::open().await, Desk::new(&[Then::Wait, Then::Wait]));
    let runs = [begin(&database.pool, &desk), begin(&database.pool, &desk)];
    let attempts = [desk.reached().await, desk.reached().await];
    let mut conn = database.database.connect().await;
    conn.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '23514'; END $$; \
         DO $$ BEGIN EXECUTE format('CREATE TRIGGER refuse BEFORE UPDATE ON idem_record FOR EACH ROW \
         WHEN (OLD.key = %L AND NEW.status = 3) EXECUTE FUNCTION refuse()', \
         (SELECT min(key COLLATE \"C\") FROM idem_record)); END $$",
    )
    .await
    .expect("made");
    in_time("the other lease is not extended", async {
        let mut ends = BTreeSet::new();
        while ends.len() < SEVERAL {
            ends.insert(database.ends().await[1]);
            assert_one_is_alive(&attempts);
            sleep(PACE).await;
        }
    })
    .await;
    for _ in &runs {
        desk.open();
    }
    for run in runs {
        run.await.expect("no panic").expect("it is recorded");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heartbeats_have_a_connection_made_as_the_pool_makes_its_own_and_gone_with_the_last_lease()
{
    let database = Postgres::open().await;
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .after_connect(move |conn, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move {
                conn.execute("SET application_name = 'hooked'").await?;
                Ok(())
            })
        })
        .connect_lazy_with(database.database.options().clone());
    let desk = Desk::new(&[Then::Wait, Then::Wait]);
    let runs = [begin(&pool, &desk), begin(&pool, &desk)];
    let attempts = [desk.reached().await, desk.reached().await];
    let body = pool.acquire().await.expect("a connection");
    assert_eq!(made.load(Ordering::SeqCst), 1);
    for attempt in &attempts {
        attempt.heartbeat().await.expect("it is ours");
    }
    assert_eq!(made.load(Ordering::SeqCst), 2);
    let mut observer = database.database.observer().await;
    let hooked = |count| {
        format!(
            "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND application_name = 'hooked') = {count}"
        )
    };
    observer.until(&hooked(2)).await;
    drop(body);
    for _ in &runs {
        desk.open();
    }
    for run in runs {
        run.await.expect("no panic").expect("it is recorded");
    }
    observer.until(&hooked(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_waited_for_a_connection_has_its_whole_lease() {
    let (database, desk) = (Postgres::open().await, Desk::new(&[Then::Wait]));
    let pool = database.database.pool(1);
    let body = pool.acquire().await.expect("a connection");
    let mut run = begin(&pool, &desk);
    timeout(LEASE + LEASE / 10, &mut run)
        .await
        .expect_err("it waits for the connection");
    assert!(database.ends().await.is_empty());
    drop(body);
    let attempt = desk.reached().await;
    assert!(!attempt.is_lost());
    desk.open();
    run.await.expect("no panic").expect("it is recorded");
}
