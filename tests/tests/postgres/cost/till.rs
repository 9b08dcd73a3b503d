//! A till whose calls are counted.

use std::time::Duration;

use idem_runtime::{Error, IdempotencyKey};
use idem_tests::patience::in_time;
use idem_tests::postgres::payments::{Pay, PayError, charge, fail_to_pay, pay};
use idem_tests::postgres::{Cluster, Options, Shop, fresh_key};
use idem_tests_cluster::Wire;
use sqlx::PgPool;

pub(super) const CMD: Pay = Pay { amount: 1 };
pub(super) const CALLS: u64 = 10;

/// A server without other clients, and a pool of one connection through a proxy that counts.
pub(super) struct Till {
    pub(super) pool: PgPool,
    pub(super) wire: Wire,
    pub(super) shop: Shop,
    _cluster: Cluster,
}

impl Till {
    /// Opens the pool with this value of `idem.fused`.
    pub(super) async fn open(fused: &str) -> Self {
        Self::open_over(fused, Duration::ZERO).await
    }

    /// Opens it over a link of this round trip.
    pub(super) async fn open_over(fused: &str, round_trip: Duration) -> Self {
        let quiet = Options::new()
            .set("autovacuum", "off")
            .set("checkpoint_timeout", "1h")
            // Otherwise the server periodically logs its running transactions in the WAL.
            .set("wal_level", "minimal")
            .set("max_wal_senders", "0");
        let cluster = Cluster::start(quiet).expect("a server");
        let shop = Shop::open_on(&cluster, 1).await;
        let wire = Wire::to(cluster.port(), round_trip).expect("a port");
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
    pub(super) async fn settled(&self) {
        in_time("the connection is not given back", async {
            while self.pool.num_idle() < 1 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Runs the call twice to warm up (prepared statements, verified table), then ten times.
    /// Returns the increase of `gauge` per call, which must be equal each time.
    pub(super) async fn each(&self, gauge: impl AsyncFn() -> u64, call: impl AsyncFn()) -> u64 {
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
    pub(super) async fn round_trips(&self, call: impl AsyncFn()) -> u64 {
        self.each(async || self.wire.round_trips(), call).await
    }

    pub(super) async fn plain(&self) {
        let mut tx = self.pool.begin().await.expect("it begins");
        charge(&mut tx, &fresh_key(), &CMD).await.expect("it pays");
        tx.commit().await.expect("it commits");
    }

    pub(super) async fn run(&self) {
        let paid = pay(&self.pool, &fresh_key(), &CMD).await.expect("it pays");
        assert!(!paid.replayed());
    }

    pub(super) async fn replay(&self, key: &IdempotencyKey) {
        let paid = pay(&self.pool, key, &CMD).await.expect("it is recorded");
        assert!(paid.replayed());
    }

    /// Creates a key with a record, by another pool. To this pool it is new: its options do not say that they
    /// lead to the same database.
    pub(super) async fn recorded(&self) -> IdempotencyKey {
        let key = fresh_key();
        pay(&self.shop.pool, &key, &CMD).await.expect("it pays");
        key
    }

    /// Creates a key with a recorded failure, likewise.
    pub(super) async fn failed(&self) -> IdempotencyKey {
        let key = fresh_key();
        let declined = fail_to_pay(&self.shop.pool, &key, &CMD, Some(51)).await;
        assert!(matches!(declined, Err(PayError::Declined { .. })));
        key
    }

    pub(super) async fn fails_again(&self, key: &IdempotencyKey) {
        let declined = fail_to_pay(&self.pool, key, &CMD, Some(99)).await;
        assert!(matches!(declined, Err(PayError::Declined { code: 51 })));
    }

    pub(super) async fn is_refused(&self, key: &IdempotencyKey, cmd: &Pay) -> Error {
        let answer = pay(&self.pool, key, cmd).await;
        answer.map(|_| ()).expect_err("it is refused").refusal()
    }

    pub(super) async fn look(&self) {
        sqlx::query("SELECT result FROM idem_record WHERE namespace = 'none'")
            .fetch_optional(&self.pool)
            .await
            .expect("it answers");
    }
}
