//! Events as an operator reads them.

use std::fmt;

use idem_runtime::operate::{Cells, Dialect};
use idem_runtime::record::Timestamp;

use super::state::EventState;

/// Which events to list. The default is the first 50 of all.
#[derive(Debug, Clone)]
pub struct EventFilter {
    /// Their states; all if empty.
    pub states: Vec<EventState>,
    /// Their topic.
    pub topic: Option<String>,
    /// The greatest number of events.
    pub limit: u32,
}

impl Default for EventFilter {
    fn default() -> Self {
        Self {
            states: Vec::new(),
            topic: None,
            limit: 50,
        }
    }
}

impl EventFilter {
    pub(super) fn condition(&self, dialect: &Dialect) -> String {
        let mut all = vec!["1 = 1".to_owned()];
        if !self.states.is_empty() {
            let codes: Vec<_> = self
                .states
                .iter()
                .map(|state| state.code().to_string())
                .collect();
            all.push(format!("state IN ({})", codes.join(", ")));
        }
        let topic = self.topic.as_ref();
        all.extend(topic.map(|topic| format!("topic = {}", dialect.text(topic))));
        all.join(" AND ")
    }
}

/// The events of one topic and state.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventCount {
    /// The topic.
    pub topic: String,
    /// Whether the topic is paused.
    pub is_paused: bool,
    /// The state.
    pub state: EventState,
    /// The number of events.
    pub events: u64,
    /// When the oldest was appended.
    pub oldest: Option<Timestamp>,
    /// The greatest number of attempts to publish one of them.
    pub attempts: u64,
    /// The database's clock when they were counted.
    pub read_at: Timestamp,
}

pub(super) fn count(row: &Cells, now: Timestamp, paused: &[String]) -> EventCount {
    let topic = row.text(0).unwrap_or_default().to_owned();
    EventCount {
        is_paused: paused.contains(&topic),
        topic,
        state: EventState::from_code(row.number(1).unwrap_or(-1)),
        events: row.number(2).map_or(0, i64::unsigned_abs),
        oldest: row.time(3),
        attempts: row.number(4).map_or(0, i64::unsigned_abs),
        read_at: now,
    }
}

/// One event without its payload.
///
/// `Debug` leaves out the subject and the partition key: they may be personal data.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventSummary {
    /// The place in the order of appends.
    pub seq: i64,
    /// The id.
    pub id: String,
    /// The state.
    pub state: EventState,
    /// The topic.
    pub topic: String,
    /// The partition key, if the event keeps an order with others.
    pub partition_key: Option<String>,
    /// The CloudEvents attribute `type`.
    pub event_type: String,
    /// The CloudEvents attribute `source`.
    pub source: String,
    /// The CloudEvents attribute `subject`.
    pub subject: Option<String>,
    /// The number of attempts to publish it.
    pub attempts: u64,
    /// When it was appended.
    pub appended_at: Option<Timestamp>,
    /// When a pending event may be claimed.
    pub due_at: Option<Timestamp>,
    /// When it was published, or set aside.
    pub settled_at: Option<Timestamp>,
    /// The length of the payload, in bytes.
    pub payload_bytes: u64,
    /// The database's clock when it was read.
    pub read_at: Timestamp,
}

impl fmt::Debug for EventSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSummary")
            .field("id", &self.id)
            .field("state", &self.state)
            .field("topic", &self.topic)
            .finish_non_exhaustive()
    }
}

/// One event with its payload, which may be personal data: `Debug` leaves it out.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventDetail {
    /// Everything but headers, payload and error.
    pub summary: EventSummary,
    /// The error of the last attempt.
    pub last_error: Option<String>,
    /// The application's headers, as a JSON object.
    pub headers: Option<String>,
    /// The payload.
    pub payload: Vec<u8>,
}

impl fmt::Debug for EventDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventDetail")
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

/// How many columns [`columns`] selects.
pub(super) const WIDTH: usize = 13;

/// The columns that [`summary`] reads.
pub(super) fn columns(dialect: &Dialect) -> String {
    [
        dialect.number_cell("seq"),
        dialect.text_cell("id"),
        dialect.number_cell("state"),
        dialect.text_cell("topic"),
        dialect.text_cell("partition_key"),
        dialect.text_cell("event_type"),
        dialect.text_cell("source"),
        dialect.text_cell("subject"),
        dialect.number_cell("attempts"),
        dialect.time_cell("appended_at"),
        dialect.time_cell("due_at"),
        dialect.time_cell("settled_at"),
        dialect.number_cell(&dialect.length("payload")),
    ]
    .join(", ")
}

/// Reads a row of [`columns`].
pub(super) fn summary(row: &Cells, now: Timestamp) -> EventSummary {
    let optional = |column| row.text(column).map(str::to_owned);
    let text = |column| optional(column).unwrap_or_default();
    let state = EventState::from_code(row.number(2).unwrap_or(-1));
    EventSummary {
        seq: row.number(0).unwrap_or_default(),
        id: text(1),
        state,
        topic: text(3),
        partition_key: optional(4),
        event_type: text(5),
        source: text(6),
        subject: optional(7),
        attempts: row.number(8).map_or(0, i64::unsigned_abs),
        appended_at: row.time(9),
        due_at: row.time(10).filter(|_| state == EventState::Pending),
        settled_at: row.time(11),
        payload_bytes: row.number(12).map_or(0, i64::unsigned_abs),
        read_at: now,
    }
}
