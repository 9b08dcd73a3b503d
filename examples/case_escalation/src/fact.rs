//! The fact that a case was escalated, as the rest of the world hears it.

use idem_messaging::outbox::{Event, EventError, Origin};
use serde::{Deserialize, Serialize};

/// The topic: the subject at NATS.
pub const TOPIC: &str = "cases.escalated";

/// A case was escalated.
#[derive(Debug, Clone, Serialize, Deserialize)] // compared on every redelivery
pub struct CaseEscalated {
    /// The case.
    pub case: String,
    /// The version of the case that was escalated.
    pub version: i64,
    /// The supervisor who is to be told.
    pub supervisor: String,
    /// The officer's reason.
    pub reason: String,
}

impl CaseEscalated {
    /// Returns the event that tells the fact. Its id follows from the call it comes from, so that a repeated call has
    /// the same.
    ///
    /// # Errors
    /// [`EventError`] if a field is too long; nothing was written.
    pub fn event(&self, origin: &Origin) -> Result<Event, EventError> {
        Event::builder(origin, "escalated")
            .topic(TOPIC)
            .event_type("com.example.case.escalated.v1")
            .subject(format!("{}/{}", self.case, self.version))
            // The events of one case leave one after another.
            .partition_key(&self.case)
            .json(self)
            .build()
    }
}
