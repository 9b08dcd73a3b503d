//! What a handler gets of a message, and what is compared.

use std::fmt;
use std::ops::Deref;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cloud_event;
use super::message::Message;
use super::refused::MessageError;

/// What is compared of a message: its type and its payload. Headers, trace and count of deliveries change from delivery to
/// delivery, and are no part of it.
///
/// Make it the handler's parameter beside the key:
///
/// ```
/// use idem_messaging::inbox::{Message, Received};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct CaseEscalated { case: i64 }
///
/// let message = Message::new(br#"{"case":17}"#.as_slice()).with_event_type("case.escalated");
/// let event = Received::<CaseEscalated>::json(&message)?;
/// assert_eq!((event.event_type(), event.case), (Some("case.escalated"), 17));
/// # Ok::<(), idem_messaging::inbox::MessageError>(())
/// ```
///
/// It dereferences to the payload. `Debug` leaves the payload out: it may be personal data.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Received<T> {
    #[serde(rename = "type")]
    event_type: Option<String>,
    data: T,
}

impl<T> Received<T> {
    /// Decodes a JSON payload; of a CloudEvent in structured mode, its `data`.
    ///
    /// # Errors
    /// [`MessageError::Decode`] if the payload does not decode into `T`; other [`MessageError`]s if it is a CloudEvent that
    /// cannot be read.
    pub fn json(message: &Message) -> Result<Self, MessageError>
    where
        T: DeserializeOwned,
    {
        let data = cloud_event::data(message)?;
        Self::of(message, data)
    }

    /// Takes a payload that was decoded otherwise, such as Protocol Buffers.
    ///
    /// # Errors
    /// [`MessageError`] if the message is a CloudEvent that cannot be read.
    pub fn of(message: &Message, data: T) -> Result<Self, MessageError> {
        let of_cloud_event =
            cloud_event::attributes(message)?.and_then(|attributes| attributes.event_type);
        let event_type = of_cloud_event.or_else(|| message.broker_type().map(ToOwned::to_owned));
        Ok(Self { event_type, data })
    }

    /// Returns the type: that of the CloudEvent, else the one that the broker has.
    pub fn event_type(&self) -> Option<&str> {
        self.event_type.as_deref()
    }

    /// Returns the payload.
    pub fn into_data(self) -> T {
        self.data
    }
}

impl<T> Deref for Received<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T> fmt::Debug for Received<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("event_type", &self.event_type)
            .finish_non_exhaustive()
    }
}
