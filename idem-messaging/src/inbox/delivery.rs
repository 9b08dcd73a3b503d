//! One delivery of a message.

use std::sync::Arc;

use super::message::Message;

/// One delivery of a message: the message, and how many attempts it has used up.
#[derive(Clone, Debug)]
pub struct Delivery {
    message: Arc<Message>,
    attempts: u32,
    is_after_parking: bool,
}

impl Delivery {
    /// Creates the first delivery of a message.
    pub fn new(message: Message) -> Self {
        Self {
            message: Arc::new(message),
            attempts: 0,
            is_after_parking: false,
        }
    }

    /// Sets how many attempts earlier deliveries used up. It is the number that the last
    /// [`Verdict::Retry`](super::Verdict::Retry) gave, and not the broker's count of deliveries: one that ended because the
    /// database was away counts there, and not here.
    #[must_use]
    pub fn with_attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }

    /// Says that the message was [parked](super::Verdict::Park) before. That its outcome is still unknown is then no news for
    /// the log.
    #[must_use]
    pub fn after_parking(self) -> Self {
        Self {
            is_after_parking: true,
            ..self
        }
    }

    /// Returns whether the message was parked before.
    pub fn is_after_parking(&self) -> bool {
        self.is_after_parking
    }

    /// Returns the message.
    pub fn message(&self) -> &Arc<Message> {
        &self.message
    }

    /// Returns how many attempts earlier deliveries used up.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }
}
