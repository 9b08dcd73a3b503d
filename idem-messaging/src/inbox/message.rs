//! A message as a broker delivered it.

use std::borrow::Cow;
use std::fmt;

use super::refused::MessageError;
use super::trace::TraceParent;

/// A message as its producer sent it: payload, headers, and what the broker knows of its identity.
///
/// An adapter builds one for each message that it fetches:
///
/// ```
/// use idem_messaging::inbox::Message;
///
/// let message = Message::new(br#"{"case":17}"#.as_slice())
///     .with_topic("cases")
///     .with_header("Nats-Msg-Id", "8e03978e")
///     .with_broker_id("8e03978e")
///     .with_position("CASES", 4711);
/// assert_eq!(message.header("nats-msg-id")?, Some("8e03978e"));
/// # Ok::<(), idem_messaging::inbox::MessageError>(())
/// ```
///
/// `Debug` leaves out payload and headers: they may hold personal data.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    topic: String,
    broker_id: Option<String>,
    position: Option<(String, u64)>,
    event_type: Option<String>,
    content_type: Option<String>,
    headers: Vec<(String, String)>,
    payload: Vec<u8>,
}

impl Message {
    /// Creates a message of this payload, without headers or identity.
    pub fn new(payload: impl Into<Vec<u8>>) -> Self {
        Self {
            topic: String::new(),
            broker_id: None,
            position: None,
            event_type: None,
            content_type: None,
            headers: Vec::new(),
            payload: payload.into(),
        }
    }

    /// Sets where it was published: the subject of NATS, the routing key of AMQP.
    #[must_use]
    pub fn with_topic(self, topic: impl Into<String>) -> Self {
        let topic = topic.into();
        Self { topic, ..self }
    }

    /// Sets the id that the broker has for it: `Nats-Msg-Id` of NATS, the property `message_id` of AMQP 0-9-1.
    #[must_use]
    pub fn with_broker_id(self, id: impl Into<String>) -> Self {
        let broker_id = Some(id.into());
        Self { broker_id, ..self }
    }

    /// Sets its place in the broker's log: the stream and the sequence number in it.
    #[must_use]
    pub fn with_position(self, stream: impl Into<String>, sequence: u64) -> Self {
        let position = Some((stream.into(), sequence));
        Self { position, ..self }
    }

    /// Sets the type that the broker has for it: the property `type` of AMQP 0-9-1.
    #[must_use]
    pub fn with_event_type(self, event_type: impl Into<String>) -> Self {
        let event_type = Some(event_type.into());
        Self { event_type, ..self }
    }

    /// Sets the media type of the payload, if the broker has it apart from the headers.
    #[must_use]
    pub fn with_content_type(self, content_type: impl Into<String>) -> Self {
        let content_type = Some(content_type.into());
        Self {
            content_type,
            ..self
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Returns where it was published; empty if the adapter does not say.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Returns the id that the broker has for it.
    pub fn broker_id(&self) -> Option<&str> {
        self.broker_id.as_deref()
    }

    /// Returns the stream and the sequence number in it.
    pub fn position(&self) -> Option<(&str, u64)> {
        let (stream, sequence) = self.position.as_ref()?;
        Some((stream, *sequence))
    }

    /// Returns the type that the broker has for it. [`Received`](super::Received) also knows that of a CloudEvent.
    pub fn broker_type(&self) -> Option<&str> {
        self.event_type.as_deref()
    }

    /// Returns the media type of the payload, without its parameters and in lower case.
    ///
    /// # Errors
    /// [`MessageError::Ambiguous`] if the header `Content-Type` is there twice with different values.
    pub fn media_type(&self) -> Result<Option<String>, MessageError> {
        let whole = match self.content_type.as_deref() {
            Some(whole) => Some(whole),
            None => self.header("content-type")?,
        };
        let media = whole.map(|whole| whole.split(';').next().unwrap_or_default().trim());
        Ok(media.map(str::to_ascii_lowercase))
    }

    /// Returns the value of a header, by its name in any case.
    ///
    /// # Errors
    /// [`MessageError::Ambiguous`] if the header is there twice with different values: two readers could take different
    /// ones.
    pub fn header(&self, name: &str) -> Result<Option<&str>, MessageError> {
        let mut values = self
            .headers
            .iter()
            .filter_map(|(own, value)| own.eq_ignore_ascii_case(name).then_some(value.as_str()));
        let first = values.next();
        if values.any(|value| Some(value) != first) {
            return Err(MessageError::Ambiguous {
                name: Cow::Owned(name.to_owned()),
            });
        }
        Ok(first)
    }

    /// Returns all headers, in the order in which they came.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the payload.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Returns the trace that the producer was in, from the header `traceparent`. Returns `None` if there is none or if it
    /// is malformed: W3C Trace Context, section 4.3, asks to begin a new trace then.
    pub fn trace_parent(&self) -> Option<TraceParent> {
        let name = ["traceparent", "ce-traceparent"];
        let text = name
            .into_iter()
            .find_map(|name| self.header(name).ok().flatten())?;
        text.parse().ok()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("topic", &self.topic)
            .field("position", &self.position)
            .field("payload_bytes", &self.payload.len())
            .finish_non_exhaustive()
    }
}
