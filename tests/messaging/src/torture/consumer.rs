//! A process with two consumers: one books each event, and one shows them in the order of their partition.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream;
use idem_messaging::broker::nats::NatsSource;
use idem_messaging::inbox::{
    Backoff, Consumer, ConsumerError, Handler, Message, MessageKey, Policy, Received,
};
use idem_runtime::IdempotencyKey;
use idem_tests::torture::{Fault, choice};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::broker::{CONSUMERS, DEAD, STREAM, connect};
use super::calls::Fate;
use super::desk::Desk;
use super::engine::Engine;
use super::errand::{Errand, told_to_end, until_told};

/// After this silence of a process the broker delivers its messages to another.
pub const ACK_WAIT: Duration = Duration::from_secs(1);
/// The number of messages that a consumer has in work at once.
const CONCURRENCY: NonZeroU32 = NonZeroU32::new(4).expect("not zero");
/// One in this many runs of a body fails on purpose.
const FAILS: u64 = 32;

/// Consumes until the standard input is closed.
///
/// # Errors
///
/// Returns an error if an address cannot be parsed.
pub async fn run<E: Engine>(errand: Errand) -> Result<(), Fault> {
    let desk = E::pool(&errand.url, 8)?;
    let jetstream = connect(&errand.broker).await?;
    let ended = told_to_end();
    let seed = choice(errand.seed, errand.number);
    let mut sources = JoinSet::new();
    let (book, show) = (desk.clone(), desk);
    let source = |name| source(&jetstream, name);
    sources.spawn(consume(source(CONSUMERS[0]), ended.clone(), move || {
        booking(book.clone(), seed)
    }));
    sources.spawn(consume(source(CONSUMERS[1]), ended, move || {
        showing(show.clone(), seed)
    }));
    while let Some(ended) = sources.join_next().await {
        ended??;
    }
    Ok(())
}

fn source(jetstream: &jetstream::Context, name: &str) -> NatsSource {
    NatsSource::new(jetstream.clone(), STREAM, name, format!("{DEAD}.{name}"))
        .with_ack_wait(ACK_WAIT)
        .with_concurrency(CONCURRENCY)
        .with_max_deliver(NonZeroU32::MAX)
        .with_parked_interval(Duration::from_secs(1))
}

/// Runs a consumer. It may not start, because the broker is away; once it runs, it restores what breaks by itself.
async fn consume<H: Handler>(
    source: NatsSource,
    ended: watch::Receiver<bool>,
    consumer: impl Fn() -> Result<Consumer<H>, ConsumerError>,
) -> Result<(), Fault> {
    while !*ended.borrow() {
        let end = until_told(ended.clone());
        match source.clone().run(consumer()?, end).await {
            Ok(()) => break,
            Err(error) => eprintln!("a consumer tries again to start: {error}"),
        }
        // Its back-off. Nothing waits for it.
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

fn booking<D: Desk>(desk: D, seed: u64) -> Result<Consumer<impl Handler>, ConsumerError> {
    let runs = Arc::new(AtomicU64::new(0));
    let handler = move |key: IdempotencyKey, message: Arc<Message>| {
        let (desk, fate) = (desk.clone(), fate(seed, &runs));
        async move { desk.book(&key, &Received::json(&message)?, fate).await }
    };
    consumer(D::operations()[0], handler)
}

fn showing<D: Desk>(desk: D, seed: u64) -> Result<Consumer<impl Handler>, ConsumerError> {
    let runs = Arc::new(AtomicU64::new(0));
    let handler = move |key: IdempotencyKey, message: Arc<Message>| {
        let (desk, fate) = (desk.clone(), fate(seed, &runs));
        async move { desk.show(&key, &Received::json(&message)?, fate).await }
    };
    consumer(D::operations()[1], handler)
}

fn fate(seed: u64, runs: &AtomicU64) -> Fate {
    let run = runs.fetch_add(1, Ordering::Relaxed);
    if choice(seed, run).is_multiple_of(FAILS) {
        Fate::Fails
    } else {
        Fate::Succeeds
    }
}

fn consumer<H: Handler>(
    operation: idem_runtime::handler::OperationSpec,
    handler: H,
) -> Result<Consumer<H>, ConsumerError> {
    // Gaps use up attempts, and a nemesis makes many.
    let policy = Policy::DEFAULT
        .with_attempts(NonZeroU32::MAX)
        .with_backoff(Backoff::new(
            Duration::from_millis(5),
            Duration::from_millis(200),
        ))
        .with_pause(Backoff::new(
            Duration::from_millis(20),
            Duration::from_millis(500),
        ));
    Consumer::new(operation, MessageKey::broker_id(), handler)?.with_policy(policy)
}
