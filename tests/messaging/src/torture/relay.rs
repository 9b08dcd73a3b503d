//! A process with a relay.

use std::time::Duration;

use idem_messaging::broker::nats::NatsPublisher;
use idem_messaging::outbox::{Outbox, Publisher, Relay};
use idem_tests::torture::Fault;

use super::broker::connect;
use super::engine::Engine;
use super::errand::{Errand, told_to_end, until_told};
use super::planted::{Hasty, Planted, follow_the_sequence};

/// For how long a claim keeps others away.
pub const LEASE: Duration = Duration::from_secs(2);
/// The time after which a publication counts as failed.
const PUBLISHING: Duration = Duration::from_millis(900);

/// Publishes until the standard input is closed.
///
/// # Errors
///
/// Returns an error if an address cannot be parsed.
pub async fn run<E: Engine>(errand: Errand) -> Result<(), Fault> {
    let pool = E::pool(&errand.url, 2)?;
    let jetstream = connect(&errand.broker).await?;
    let publisher = NatsPublisher::new(jetstream);
    let end = until_told(told_to_end());
    match errand.planted {
        Planted::Nothing => publish::<E, _>(pool, publisher, end).await,
        Planted::MarkBeforePublish => publish::<E, _>(pool, Hasty(publisher), end).await,
        Planted::CursorOverSequence => {
            tokio::select! {
                // One of them: another one's cursor might find what this one's has passed.
                () = follow_the_sequence(&pool, &publisher), if errand.number == 0 => {}
                () = end => {}
            }
        }
    }
    Ok(())
}

async fn publish<E: Engine, P: Publisher>(pool: E::Desk, publisher: P, end: impl Future) {
    // A crash uses up attempts of the events that were under way; published events are kept to be counted.
    Relay::new(pool.into(), &Outbox::new(), publisher)
        .batch(64)
        .concurrency(32)
        .lease(LEASE)
        .publish_timeout(PUBLISHING)
        .idle_interval(Duration::from_millis(100))
        .max_attempts(100_000)
        .backoff(Duration::from_millis(20), Duration::from_millis(500))
        .keep_for(Duration::from_hours(24))
        .run(end)
        .await;
}
