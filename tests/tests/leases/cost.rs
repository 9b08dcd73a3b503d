//! The countable costs of a leased call on PostgreSQL: round trips, and statements for many leases.

use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::{LeasedOperation, Operation};
use idem_tests::patience::in_time;
use idem_tests::postgres::Database;
use idem_tests_cluster::Wire;
use sqlx::PgPool;
use tokio::task::JoinSet;

use crate::database::{LeaseDatabase as _, Postgres};
use crate::desk::{Desk, Then, ada, fresh_key, send_again};
use crate::plans::{Explained, Situation};

const CALLS: u64 = 10;

/// A database, and a pool of one connection to it through a link that counts.
struct Till {
    pool: PgPool,
    wire: Wire,
    database: Postgres,
}

impl Till {
    async fn open() -> Self {
        let database = Postgres::open().await;
        let options = database.database.options().clone();
        let wire = Wire::to(options.get_port(), Duration::ZERO).expect("a port");
        let options = options.host("127.0.0.1").port(wire.port());
        let pool = sqlx::postgres::PgPoolOptions::new()
            .max_connections(1)
            .connect_lazy_with(options);
        let till = Self {
            pool,
            wire,
            database,
        };
        // The first call verifies the table.
        till.call().await;
        till
    }

    /// Waits until the pool has its connection back, after the ping.
    async fn settled(&self) {
        in_time("the connection is not given back", async {
            while self.pool.num_idle() < 1 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Makes a call whose body ends only when the claim's connection is back, so that the end uses it, too.
    async fn call(&self) {
        let (desk, key) = (Desk::new(&[Then::Wait]), fresh_key());
        let (pool, at) = (self.pool.clone(), desk.clone());
        let run = tokio::spawn(async move { send_again(&pool, &key, ada(), at).await });
        desk.reached().await;
        self.settled().await;
        desk.open();
        run.await.expect("no panic").expect("it is sent");
        self.settled().await;
    }

    /// Returns the round trips of one call, which must be equal each time.
    async fn round_trips(&self, call: impl AsyncFn()) -> u64 {
        let mut each = Vec::new();
        for _ in 0..CALLS {
            let before = self.wire.round_trips();
            call().await;
            self.settled().await;
            each.push(self.wire.round_trips() - before);
        }
        assert!(each.iter().all(|found| *found == each[0]), "{each:?}");
        each[0]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leased_call_is_two_messages_and_a_replay_is_one_beside_the_pools_pings() {
    const PINGS: u64 = 2;
    let till = Till::open().await;
    let call = till.round_trips(async || till.call().await).await;
    assert_eq!(call, 2 * (PINGS + 1));
    let (desk, key) = (Desk::new(&[]), fresh_key());
    let sent = send_again(&till.database.pool, &key, ada(), desk.clone()).await;
    assert!(!sent.expect("it is sent").replayed());
    let replay = till
        .round_trips(async || {
            let again = send_again(&till.pool, &key, ada(), desk.clone()).await;
            assert!(again.expect("it is recorded").replayed());
        })
        .await;
    assert_eq!(replay, PINGS + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_is_one_message_beside_its_pools_pings() {
    let till = Till::open().await;
    let (desk, key) = (Desk::new(&[Then::Wait]), fresh_key());
    let (pool, at) = (till.pool.clone(), desk.clone());
    let run = tokio::spawn(async move { send_again(&pool, &key, ada(), at).await });
    let attempt = desk.reached().await;
    till.settled().await;
    // The first one opens the connection. Its release is over before the next one is sent.
    for _ in 0..2 {
        attempt.heartbeat().await.expect("it is ours");
    }
    let before = till.wire.round_trips();
    for _ in 0..CALLS {
        attempt.heartbeat().await.expect("it is ours");
    }
    // The ping of the last release follows the answer.
    let most = before + 3 * CALLS + 1;
    in_time("fewer than a message and two pings each", async {
        while till.wire.round_trips() < most - 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(till.wire.round_trips() <= most);
    desk.open();
    run.await.expect("no panic").expect("it is sent");
}

/// Long enough that a busy machine claims all of them within a sixth of it.
const MANY: LeasedOperation =
    Operation::new("mail", "many").lease(Duration::from_secs(24), OnLapse::Retry);

#[tokio::test(flavor = "multi_thread")]
async fn a_round_of_heartbeats_of_1000_leases_takes_at_most_20_updates() {
    const LEASES: usize = 1_000;
    let explained = Explained::open(Situation::Analysed).await;
    let desk = Desk::new(&[Then::Wait; LEASES]);
    let pool = explained.pool(8);
    let mut runs = JoinSet::new();
    for _ in 0..LEASES {
        let (pool, desk, key) = (pool.clone(), desk.clone(), fresh_key());
        runs.spawn(async move {
            let body = async move |attempt| desk.deliver(&attempt).await;
            MANY.run(&pool, &key, &1, body).await
        });
    }
    for _ in 0..LEASES {
        desk.reached().await;
    }
    let claimed = ends(&explained.database).await;
    assert_eq!(claimed.len(), LEASES);
    in_time("not every lease is extended", async {
        loop {
            let ends = ends(&explained.database).await;
            assert_eq!(ends.len(), LEASES, "one has lapsed");
            if ends
                .iter()
                .zip(&claimed)
                .all(|(end, claimed)| end > claimed)
            {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let updates = explained.plans("Update").await.len();
    assert!((1..=20).contains(&updates), "{updates} updates");
    for _ in 0..LEASES {
        desk.open();
    }
    while let Some(run) = runs.join_next().await {
        run.expect("no panic").expect("it is recorded");
    }
}

/// Returns the ends of the leases of [`MANY`], in the order of their keys.
async fn ends(database: &Database) -> Vec<i64> {
    sqlx::query_scalar(
        "SELECT (extract(epoch FROM locked_until) * 1000000)::bigint FROM idem_record \
         WHERE status = 3 AND operation = 'many' ORDER BY key",
    )
    .fetch_all(&mut database.connect().await)
    .await
    .expect("it can be read")
}
