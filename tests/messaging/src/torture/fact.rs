//! What an event says.

use idem_messaging::outbox::{Event, EventError, Origin};
use idem_runtime::IdempotencyKey;
use serde::{Deserialize, Serialize};

/// The number of partitions. The facts of one more number belong to none.
pub const PARTITIONS: i64 = 16;
/// The number of topics.
const TOPICS: i64 = 3;
/// The subjects of the events begin with this.
pub const TOPIC: &str = "events";

/// A fact: a call had its effect.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Fact {
    /// The key of the call.
    pub key: String,
    /// The partition, or [`PARTITIONS`] for none.
    pub partition: i64,
    /// The number of the effect in its partition, from 1; 0 if it belongs to none.
    pub number: i64,
}

impl Fact {
    /// Returns the partition, if the fact belongs to one.
    pub fn ordered_in(&self) -> Option<i64> {
        (self.partition < PARTITIONS).then_some(self.partition)
    }

    /// Returns the topic, which is one for all facts of a partition.
    pub fn topic(&self) -> String {
        format!("{TOPIC}.{}", self.partition % TOPICS)
    }

    /// Returns the event of a call.
    ///
    /// # Errors
    ///
    /// Returns an error if the fact's parts are no event's.
    pub fn event(&self, origin: &Origin) -> Result<Event, EventError> {
        let event = Event::builder(origin, "posted")
            .topic(self.topic())
            .event_type("com.example.posted.v1")
            .json(self);
        match self.ordered_in() {
            Some(partition) => event.partition_key(partition.to_string()).build(),
            None => event.build(),
        }
    }
}

/// Returns the key of this name, in the global scope.
///
/// # Errors
///
/// Returns an error if the name is not a valid key.
pub fn named(name: &str) -> Result<IdempotencyKey, idem_runtime::Error> {
    Ok(name.parse::<IdempotencyKey>()?.global())
}
