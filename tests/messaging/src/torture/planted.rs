//! The faults that are planted in a relay on purpose.

use std::time::Duration;

use idem_messaging::broker::nats::NatsPublisher;
use idem_messaging::outbox::{Origin, OutboxEvent, PublishError, Publisher};
use idem_runtime::record::Timestamp;
use idem_tests::torture::Fault;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::desk::{Desk, POST};
use super::fact::{Fact, named};

/// A fault that is planted on purpose and that the checker must find.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Planted {
    /// No fault: the library's relay.
    Nothing,
    /// Marks an event as published before the broker has confirmed it.
    MarkBeforePublish,
    /// Publishes what is beyond the last number that it has seen, although numbers are not in the order of commits.
    CursorOverSequence,
}

/// Answers before the broker has.
#[derive(Debug)]
pub struct Hasty(pub NatsPublisher);

impl Publisher for Hasty {
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        let (publisher, event) = (self.0.clone(), event.clone());
        tokio::spawn(async move { publisher.publish(&event).await });
        Ok(())
    }
}

/// Publishes the events in the order of their numbers, each once, with confirmation. It remembers the last number only.
pub async fn follow_the_sequence<D: Desk>(desk: &D, publisher: &NatsPublisher) {
    let mut cursor = 0;
    loop {
        if let Err(error) = follow(desk, publisher, &mut cursor).await {
            eprintln!("the relay with a cursor tries again: {error}");
        }
        // The time between two polls.
        sleep(Duration::from_millis(1)).await;
    }
}

async fn follow<D: Desk>(
    desk: &D,
    publisher: &NatsPublisher,
    cursor: &mut i64,
) -> Result<(), Fault> {
    for (seq, payload) in desk.appended_after(*cursor).await? {
        let fact: Fact = serde_json::from_slice(&payload)?;
        let event = fact.event(&Origin::of(POST, &named(&fact.key)?)?)?;
        let event = OutboxEvent::new(event, Timestamp::from_micros(0), 1);
        publisher.publish(&event).await?;
        desk.mark_published(seq).await?;
        *cursor = seq;
    }
    Ok(())
}
