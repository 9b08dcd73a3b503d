//! What remains of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::fact::Fact;

/// An effect of a caller, with the id of its event.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Effect {
    /// The id of the event that the body appended.
    pub event: String,
    /// The effect.
    pub fact: Fact,
}

/// A row of the outbox.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Row {
    /// The event's id.
    pub event: String,
    /// The code of its state.
    pub state: i64,
    /// What the event says.
    pub fact: Fact,
    /// The attempts to publish it.
    pub attempts: i64,
    /// The last error, if there was one.
    pub error: Option<String>,
}

/// A message of the broker's stream.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Publication {
    /// The event's id.
    pub event: String,
    /// The topic.
    pub topic: String,
    /// What the event says.
    pub fact: Fact,
}

/// A message that was set aside.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Letter {
    /// Its subject, which ends in the reason.
    pub topic: String,
    /// The reason in words.
    pub detail: String,
    /// The payload.
    pub payload: String,
}

/// The content of the tables.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Tables {
    /// The last number of each partition.
    pub numbers: BTreeMap<i64, i64>,
    /// The effects of the callers.
    pub effects: Vec<Effect>,
    /// The outbox, in the order of the sequence.
    pub rows: Vec<Row>,
    /// The effects of the consumer without a guard, in the order of their INSERTs.
    pub booked: Vec<Fact>,
    /// The effects of the consumer with a version guard, in the order of their INSERTs.
    pub shown: Vec<Fact>,
}

/// Everything that remains of a run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Evidence {
    /// The number of calls that were made.
    pub calls: u64,
    /// The number of events that they must have.
    pub events: u64,
    /// The number of calls that were answered.
    pub answered: u64,
    /// The answers that no caller may get.
    pub forbidden: Vec<String>,
    /// The content of the tables.
    pub tables: Tables,
    /// The stream of the events, in its order.
    pub publications: Vec<Publication>,
    /// What the consumers set aside.
    pub letters: Vec<Letter>,
    /// The deliveries that were not acknowledged in the end.
    pub waiting: u64,
}
