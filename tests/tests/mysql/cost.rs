//! The round trips of a call. They do not depend on the machine; `cargo xtask bench --block mariadb` measures times.

use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::{Error, IdempotencyKey, LeasedOperation, Operation};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::mysql::payments::{Pay, charge, pay};
use idem_tests::mysql::{Shop, fresh_key};
use idem_tests::patience::in_time;
use idem_tests_cluster::Wire;
use sqlx::mysql::{MySqlPool, MySqlSslMode};

const CMD: Pay = Pay { amount: 1 };
const NOTE: LeasedOperation =
    Operation::new("mail", "note").lease(Duration::from_mins(5), OnLapse::Retry);

/// A pool of one connection through a link that counts.
struct Till {
    pool: MySqlPool,
    wire: Wire,
    shop: Shop,
}

impl Till {
    async fn open() -> Self {
        let shop = Shop::open(1).await;
        let options = shop.database.options().clone();
        let wire = Wire::to(options.get_port(), Duration::ZERO).expect("a port");
        let options = options.host("127.0.0.1").port(wire.port());
        let pool = shop.pool_by(1, options.ssl_mode(MySqlSslMode::Disabled));
        Self { pool, wire, shop }
    }

    /// Waits for the ping that the pool sends after the connection is returned.
    async fn settled(&self) {
        in_time("the connection is not given back", async {
            while self.pool.num_idle() < 1 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Calls twice to warm up (the table is verified), then five times. Returns the round trips of one call, which
    /// must be equal each time, without the pool's two pings.
    async fn round_trips(&self, call: impl AsyncFn()) -> u64 {
        let mut counted = Vec::new();
        for number in 0..7 {
            let before = self.wire.round_trips();
            call().await;
            self.settled().await;
            if number >= 2 {
                counted.push(self.wire.round_trips() - before);
            }
        }
        let first = counted[0];
        assert!(counted.iter().all(|found| *found == first), "{counted:?}");
        first - 2
    }

    async fn plain(&self) {
        let mut tx = self.pool.begin().await.expect("it begins");
        charge(&mut tx, &fresh_key(), &CMD).await.expect("it pays");
        tx.commit().await.expect("it commits");
    }

    async fn run(&self) {
        let paid = pay(&self.pool, &fresh_key(), &CMD).await.expect("it pays");
        assert!(!paid.replayed());
    }

    async fn replay(&self, key: &IdempotencyKey) {
        let paid = pay(&self.pool, key, &CMD).await.expect("it is recorded");
        assert!(paid.replayed());
    }

    async fn is_refused(&self, key: &IdempotencyKey, cmd: &Pay) -> Error {
        let answer = pay(&self.pool, key, cmd).await;
        answer.map(|_| ()).expect_err("it is refused").refusal()
    }

    /// Records a key as another process would.
    async fn recorded_elsewhere(&self) -> IdempotencyKey {
        let (first, key) = (fresh_key(), fresh_key());
        pay(&self.shop.pool, &first, &CMD).await.expect("it pays");
        let rename = format!(
            "UPDATE idem_record SET `key` = '{}' WHERE `key` = '{}'",
            key.as_str(),
            first.as_str()
        );
        self.shop.run(&rename).await;
        key
    }
}

#[tokio::test]
async fn a_fresh_run_takes_one_round_trip_more_than_the_same_work_alone() {
    let till = Till::open().await;
    let plain = till.round_trips(async || till.plain().await).await;
    assert_eq!(plain, 3);
    let run = till.round_trips(async || till.run().await).await;
    assert_eq!(run, plain + 1);
}

#[tokio::test]
async fn a_replay_and_a_mismatch_where_the_first_call_ran_take_one_round_trip() {
    let till = Till::open().await;
    let key = fresh_key();
    pay(&till.shop.pool, &key, &CMD).await.expect("it pays");
    let replay = till.round_trips(async || till.replay(&key).await).await;
    assert_eq!(replay, 1);
    let mismatch = till
        .round_trips(async || {
            let refusal = till.is_refused(&key, &Pay { amount: 2 }).await;
            assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
        })
        .await;
    assert_eq!(mismatch, 1);
}

#[tokio::test]
async fn the_first_replay_where_the_first_call_did_not_run_takes_two_round_trips_and_writes_nothing()
 {
    let till = Till::open().await;
    till.run().await;
    let replay = till
        .round_trips(async || {
            let key = till.recorded_elsewhere().await;
            till.replay(&key).await;
        })
        .await;
    assert_eq!(replay, 2);
}

#[tokio::test]
async fn a_call_in_flight_is_refused_by_two_round_trips_and_then_by_one() {
    let till = Till::open().await;
    till.run().await;
    till.settled().await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let (pool, held) = (till.shop.pool.clone(), key.clone());
    let running = tokio::spawn(async move { pay(&pool, &held, &CMD).await });
    gate.entered().await;
    let mut counted = Vec::new();
    for _ in 0..3 {
        let before = till.wire.round_trips();
        let refusal = till.is_refused(&key, &CMD).await;
        assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
        till.settled().await;
        counted.push(till.wire.round_trips() - before - 2);
    }
    gate.open();
    let paid = running.await.expect("no panic").expect("it pays");
    assert!(!paid.replayed());
    // A refusal ends what a NOWAIT has left by a message of its own.
    assert_eq!(counted, [3, 2, 2]);
}

#[tokio::test]
async fn in_a_callers_transaction_a_call_takes_five_round_trips_more_than_its_body() {
    let till = Till::open().await;
    let plain = till.round_trips(async || till.plain().await).await;
    let joined = till
        .round_trips(async || {
            let mut tx = till.pool.begin().await.expect("it begins");
            pay(&mut tx, &fresh_key(), &CMD).await.expect("it pays");
            tx.commit().await.expect("it commits");
        })
        .await;
    assert_eq!(joined, plain + 5);
}

#[tokio::test]
async fn a_leased_call_takes_a_round_trip_for_its_claim_and_one_for_its_end() {
    let till = Till::open().await;
    let leased = till
        .round_trips(async || {
            let body = async |_| Ok::<_, Error>(1);
            let done = NOTE.run(&till.pool, &fresh_key(), &1, body).await;
            assert!(!done.expect("it runs").replayed());
        })
        .await;
    // The pool's two pings of the second use are counted here.
    assert_eq!(leased, 4);
}
