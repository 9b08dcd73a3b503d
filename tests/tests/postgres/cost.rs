//! The countable costs of a call: round trips, bytes of WAL, row versions. `cargo xtask bench`
//! measures times.

use std::time::Duration;

use idem_runtime::{Error, IdempotencyKey};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;
use idem_tests::postgres::payments::{Pay, PayError, charge, fail_to_pay, pay};
use idem_tests::postgres::{Cluster, Options, Shop, fresh_key};
use idem_tests_cluster::Wire;
use sqlx::{Connection as _, PgConnection, PgPool};

const CMD: Pay = Pay { amount: 1 };
const CALLS: u64 = 10;

/// The two paths of the library (fused and plain), each with its round trips beyond those of the
/// body: of a first run, and of a look-up.
const PATHS: [(&str, u64, u64); 2] = [("on", 0, 1), ("off", 2, 2)];

/// A server without other clients, and a pool of one connection through a proxy that counts.
struct Till {
    pool: PgPool,
    wire: Wire,
    shop: Shop,
    _cluster: Cluster,
}

impl Till {
    /// Opens the pool with this value of `idem.fused`.
    async fn open(fused: &str) -> Self {
        let quiet = Options::new()
            .set("autovacuum", "off")
            .set("checkpoint_timeout", "1h")
            // Otherwise the server periodically logs its running transactions in the WAL.
            .set("wal_level", "minimal")
            .set("max_wal_senders", "0");
        let cluster = Cluster::start(quiet).expect("a server");
        let shop = Shop::open_on(&cluster, 1).await;
        let wire = Wire::to(cluster.port(), Duration::ZERO).expect("a port");
        let options = shop.database.options().clone().port(wire.port());
        let options = options.options([("idem.fused", fused)]);
        Self {
            pool: shop.pool_by(1, options),
            wire,
            shop,
            _cluster: cluster,
        }
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

    /// Runs the call twice to warm up (prepared statements, verified table), then ten times.
    /// Returns the increase of `gauge` per call, which must be equal each time.
    async fn each(&self, gauge: impl AsyncFn() -> u64, call: impl AsyncFn()) -> u64 {
        let mut added = Vec::new();
        for number in 0..2 + CALLS {
            let before = gauge().await;
            call().await;
            self.settled().await;
            if number >= 2 {
                added.push(gauge().await - before);
            }
        }
        let first = added[0];
        assert!(added.iter().all(|found| *found == first), "{added:?}");
        first
    }

    /// Returns the round trips of one call, including the pool's pings.
    async fn round_trips(&self, call: impl AsyncFn()) -> u64 {
        self.each(async || self.wire.round_trips(), call).await
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

    /// Creates a key with a record.
    async fn recorded(&self) -> IdempotencyKey {
        let key = fresh_key();
        pay(&self.shop.pool, &key, &CMD).await.expect("it pays");
        key
    }

    async fn is_refused(&self, key: &IdempotencyKey, cmd: &Pay) -> Error {
        let answer = pay(&self.pool, key, cmd).await;
        answer.map(|_| ()).expect_err("it is refused").refusal()
    }

    async fn look(&self) {
        sqlx::query("SELECT result FROM idem_record WHERE namespace = 'none'")
            .fetch_optional(&self.pool)
            .await
            .expect("it answers");
    }
}

/// Returns the end position of the server's WAL.
async fn wal(observer: &mut PgConnection) -> u64 {
    let end: i64 = sqlx::query_scalar("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
        .fetch_one(observer)
        .await
        .expect("the server answers");
    end.unsigned_abs()
}

#[tokio::test]
async fn a_fresh_run_takes_no_round_trip_more_than_the_same_work_alone_and_unfused_two() {
    for (fused, more, _) in PATHS {
        let till = Till::open(fused).await;
        let plain = till.round_trips(async || till.plain().await).await;
        let run = till.round_trips(async || till.run().await).await;
        assert_eq!(run, plain + more, "fused: {fused}");
    }
}

#[tokio::test]
async fn a_replay_and_a_mismatch_take_one_round_trip_more_than_a_select_and_unfused_two() {
    for (fused, _, more) in PATHS {
        let till = Till::open(fused).await;
        let key = till.recorded().await;
        let select = till.round_trips(async || till.look().await).await;
        let replay = till.round_trips(async || till.replay(&key).await).await;
        assert_eq!(replay, select + more, "fused: {fused}");
        let other = Pay { amount: 2 };
        let mismatch = till
            .round_trips(async || {
                let refusal = till.is_refused(&key, &other).await;
                assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
            })
            .await;
        assert_eq!(mismatch, select + more, "fused: {fused}");
    }
}

#[tokio::test]
async fn a_call_in_flight_is_refused_while_the_body_is_held_and_as_cheaply_as_a_replay() {
    for (fused, ..) in PATHS {
        let till = Till::open(fused).await;
        let recorded = till.recorded().await;
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
        let (pool, held) = (till.shop.pool.clone(), key.clone());
        let running = tokio::spawn(async move { pay(&pool, &held, &CMD).await });
        gate.entered().await;
        let replay = till
            .round_trips(async || till.replay(&recorded).await)
            .await;
        let refused = till
            .round_trips(async || {
                let refusal = till.is_refused(&key, &CMD).await;
                assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
            })
            .await;
        assert_eq!(refused, replay);
        gate.open();
        let paid = running.await.expect("no panic").expect("it pays");
        assert!(!paid.replayed());
    }
}

#[tokio::test]
async fn a_replay_and_a_refusal_write_no_wal() {
    for (fused, ..) in PATHS {
        let till = Till::open(fused).await;
        let key = till.recorded().await;
        let observer = tokio::sync::Mutex::new(till.shop.database.connect().await);
        let gauge = async || wal(&mut *observer.lock().await).await;
        let replay = till.each(gauge, async || till.replay(&key).await).await;
        assert_eq!(replay, 0);
        let other = Pay { amount: 2 };
        let mismatch = till
            .each(gauge, async || {
                till.is_refused(&key, &other).await;
            })
            .await;
        assert_eq!(mismatch, 0);
        // The gauge counts.
        let before = gauge().await;
        till.run().await;
        assert!(gauge().await > before);
    }
}

#[tokio::test]
async fn a_record_without_its_request_adds_at_most_550_bytes_of_wal() {
    for (fused, ..) in PATHS {
        let till = Till::open(fused).await;
        let mut observer = till.shop.database.connect().await;
        let mut written = Vec::new();
        for is_plain in [true, false, true, false] {
            let before = wal(&mut observer).await;
            for _ in 0..CALLS {
                if is_plain {
                    till.plain().await;
                } else {
                    till.run().await;
                }
            }
            written.push(wal(&mut observer).await - before);
        }
        // The first two calls warm up: the sequence and the tables allocate their first pages.
        let (plain, run) = (written[2], written[3]);
        assert!(run > plain, "the record is written: {written:?}");
        assert!(run <= plain + 550 * CALLS, "{written:?}");
    }
}

#[tokio::test]
async fn a_record_is_inserted_once_and_never_updated_and_no_call_leaves_a_dead_one() {
    for (fused, ..) in PATHS {
        let till = Till::open(fused).await;
        let key = till.recorded().await;
        for _ in 0..CALLS {
            till.run().await;
            till.replay(&key).await;
            till.is_refused(&key, &Pay { amount: 2 }).await;
            let declined = fail_to_pay(&till.pool, &fresh_key(), &CMD, Some(51)).await;
            assert!(matches!(declined, Err(PayError::Declined { .. })));
            let failed = fail_to_pay(&till.pool, &fresh_key(), &CMD, None).await;
            assert!(matches!(failed, Err(PayError::BankDown)));
        }
        // A session reports its statistics at the latest when it ends.
        till.pool.close().await;
        till.shop.pool.close().await;
        let inserted = 1 + 2 * CALLS;
        let mut observer = till.shop.observer().await;
        let counts = "FROM pg_stat_user_tables WHERE relname = 'idem_record'";
        observer
            .until(&format!("(SELECT n_tup_ins = {inserted} {counts})"))
            .await;
        let mut connection = till.shop.database.connect().await;
        let (updated, deleted, dead): (i64, i64, i64) = sqlx::query_as(sqlx::AssertSqlSafe(
            format!("SELECT n_tup_upd, n_tup_del, n_dead_tup {counts}"),
        ))
        .fetch_one(&mut connection)
        .await
        .expect("the server answers");
        connection.close().await.expect("the server answers");
        assert_eq!((updated, deleted, dead), (0, 0, 0));
    }
}
