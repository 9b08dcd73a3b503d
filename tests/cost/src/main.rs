//! Makes one call at a time and prints the allocations of each stretch: its name, the number of
//! allocations and their bytes, one stretch a line. Callgrind can find each stretch by its name.
//!
//! The argument is the URL of a server, in which the program leaves its tables. With the argument
//! `--time` it prints how long a fingerprint takes on this machine, for people to read.

mod order;
mod relay;
mod shop;
mod stretch;

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use idem_runtime::fingerprint::{FINGERPRINT_VERSION, Fingerprint, RequestFields};
use idem_runtime::{IdempotencyKey, schema};
use idem_tests_counting::Ledger;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::runtime;

use self::order::Order;
use self::stretch::{
    BETWEEN, BY_HAND, CANONICAL_FORM, FROM_LAST_BYTE, HASH, REPLAY, TO_FIRST_BYTE, WARMING, follow,
};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Calls that prepare the statements, verify the table, and let buffers grow.
const WARMING_CALLS: u32 = 4;

fn main() -> Outcome {
    let url = env::args().nth(1).ok_or("the URL of a PostgreSQL server")?;
    if url == "--time" {
        return time();
    }
    #[cfg(feature = "metrics")]
    record_metrics()?;
    #[cfg(feature = "encrypt")]
    install_keys()?;
    let mut ledger = Ledger::default();
    fingerprint(&mut ledger)?;
    // One thread, so that the order of execution does not depend on a scheduler.
    runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(calls(&url, &mut ledger))?;
    ledger.print();
    Ok(())
}

/// Installs a recorder, as a service would.
#[cfg(feature = "metrics")]
fn record_metrics() -> Outcome {
    use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

    let latency = Matcher::Full("idempotency.store.latency".to_owned());
    PrometheusBuilder::new()
        .with_recommended_naming(true)
        .set_buckets_for_metric(latency, &idem_runtime::metrics::LATENCY_BUCKETS)?
        .install_recorder()?;
    idem_runtime::metrics::describe();
    Ok(())
}

/// Lets the handler encrypt, as a service would.
#[cfg(feature = "encrypt")]
fn install_keys() -> Outcome {
    use idem_runtime::codec::{Key, KeyId, Keyring, Protection};

    let keys = Keyring::new(KeyId::new(1), &Key::from_bytes([7; 32]));
    shop::SHOP.install(Protection::encrypted(keys))?;
    Ok(())
}

/// Makes the fingerprint as the engine does.
fn fingerprint(ledger: &mut Ledger) -> Outcome {
    let order = Order::of_one_kilobyte();
    let mut canonical = Vec::new();
    let mut outcome = Ok(());
    ledger.enter(CANONICAL_FORM, &mut || {
        let mut fields = RequestFields::new();
        outcome = fields.field("order", black_box(&order));
        canonical = fields.into_canonical();
    });
    outcome?;
    if !(1000..=1048).contains(&canonical.len()) {
        return Err(format!("the request has {} bytes, not 1 KB", canonical.len()).into());
    }
    let mut fingerprint = None;
    ledger.enter(HASH, &mut || {
        fingerprint = Fingerprint::compute(
            FINGERPRINT_VERSION,
            "shop",
            "place_order",
            black_box(&canonical),
        );
    });
    fingerprint.ok_or("this build's own version is unknown")?;
    Ok(())
}

/// Measures the best of several rounds: other load only makes a round slower.
fn time() -> Outcome {
    const ROUNDS: u32 = 20;
    const EACH: u32 = 20_000;
    let order = Order::of_one_kilobyte();
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..EACH {
            let mut fields = RequestFields::new();
            fields.field("order", black_box(&order))?;
            let canonical = fields.into_canonical();
            let version = FINGERPRINT_VERSION;
            black_box(Fingerprint::compute(
                version,
                "shop",
                "place_order",
                &canonical,
            ));
        }
        best = best.min(start.elapsed() / EACH);
    }
    println!("the fingerprint of a typed request of 1 KB: {best:?}");
    Ok(())
}

async fn calls(url: &str, ledger: &mut Ledger) -> Outcome {
    let options: PgConnectOptions = url.parse()?;
    let server = (options.get_host().to_owned(), options.get_port());
    let port = relay::before(server).await?;
    let pool = PgPoolOptions::new()
        .max_connections(1)
        // The first byte must belong to the call, not to a ping.
        .test_before_acquire(false)
        .connect_with(options.host("127.0.0.1").port(port))
        .await?;
    schema::create_if_missing(&mut *pool.acquire().await?).await?;
    shop::create(&pool).await?;

    let order = Order::of_one_kilobyte();
    let mut polls = 0;
    for number in 0..WARMING_CALLS {
        shop::place_order_by_hand(idle(&pool).await, &order).await?;
        let key = key(number)?;
        let call = Box::pin(shop::place_order(idle(&pool).await, &key, &order));
        let (receipt, polled) = follow(call, &mut Ledger::default(), |_| WARMING).await;
        receipt?;
        polls = polled;
    }

    let key = key(WARMING_CALLS)?;
    let call = Box::pin(shop::place_order(idle(&pool).await, &key, &order));
    let (receipt, polled) = follow(call, ledger, |poll| match poll {
        1 => TO_FIRST_BYTE,
        last if last == polls => FROM_LAST_BYTE,
        _ => BETWEEN,
    })
    .await;
    if receipt?.replayed() || polled != polls {
        return Err("this call took a different path than the one before it".into());
    }
    let again = Box::pin(shop::place_order(idle(&pool).await, &key, &order));
    if !follow(again, ledger, |_| REPLAY).await.0?.replayed() {
        return Err("a second call of the same key was not replayed".into());
    }
    let by_hand = Box::pin(shop::place_order_by_hand(idle(&pool).await, &order));
    follow(by_hand, ledger, |_| BY_HAND).await.0?;
    Ok(())
}

/// Waits until the connection is back in the pool. A task of the pool returns it; without this
/// wait, the next call would begin by waiting for it.
async fn idle(pool: &PgPool) -> &PgPool {
    while pool.num_idle() == 0 {
        tokio::task::yield_now().await;
    }
    pool
}

fn key(number: u32) -> Outcome<IdempotencyKey> {
    let text = format!("7f3c0b5e-91a4-4c1d-8f0e-{number:012}");
    Ok(text.parse::<IdempotencyKey>()?.global())
}
