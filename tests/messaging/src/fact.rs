//! What the messages of the tests say, and what a handler of them fails with.

use idem_messaging::inbox::{Answer, AsAnswer, MessageError};
use serde::{Deserialize, Serialize};

/// What a message of the tests says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fact {
    /// Identifies the fact, and so the message.
    pub id: String,
}

impl Fact {
    /// Returns the payload.
    pub fn json(id: &str) -> String {
        format!(r#"{{"id":"{id}"}}"#)
    }
}

/// Why the handler failed.
#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    /// The message cannot be read.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The statement failed.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// The library refused.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

impl AsAnswer for NoteError {
    fn as_answer(&self) -> Answer {
        match self {
            Self::Message(error) => error.as_answer(),
            Self::Database(error) => error.as_answer(),
            Self::Idempotency(error) => error.as_answer(),
        }
    }
}
