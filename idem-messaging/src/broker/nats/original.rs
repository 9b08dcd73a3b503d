//! A message as it was first published, wherever it waits now.

use async_nats::header::{HeaderMap, HeaderName, HeaderValue};
use async_nats::jetstream::{self, message::Info};

use crate::inbox::Message;

/// The header that carries a message's id (NATS documentation, *Headers*).
pub(super) const MESSAGE_ID: &str = "Nats-Msg-Id";

/// The headers that a message gets when it is set aside.
pub(super) const ASIDE_ID: &str = "idem-message-id";
pub(super) const ASIDE_SUBJECT: &str = "idem-subject";
pub(super) const ASIDE_POSITION: &str = "idem-position";
pub(super) const ASIDE_ATTEMPTS: &str = "idem-attempts";
pub(super) const ASIDE_REASON: &str = "idem-reason";
pub(super) const ASIDE_DETAIL: &str = "idem-detail";
pub(super) const ASIDE_ATTEMPT_ID: &str = "idem-attempt-id";

const ASIDE: [&str; 7] = [
    ASIDE_ID,
    ASIDE_SUBJECT,
    ASIDE_POSITION,
    ASIDE_ATTEMPTS,
    ASIDE_REASON,
    ASIDE_DETAIL,
    ASIDE_ATTEMPT_ID,
];

/// A message with the subject, position and headers of its first publication.
///
/// A parked message is published to another subject, and has another position there. A key may be made of either, and
/// under another key its effect would happen again: so what comes back is read as what was first delivered.
#[derive(Debug)]
pub(super) struct Original {
    pub(super) subject: String,
    pub(super) stream: String,
    pub(super) sequence: u64,
    pub(super) headers: HeaderMap,
    /// The attempts that it had used up when it was set aside.
    pub(super) attempts: u32,
}

impl Original {
    /// Reads a message of its own stream.
    pub(super) fn delivered(message: &jetstream::Message, info: &Info<'_>) -> Self {
        Self {
            subject: message.subject.to_string(),
            stream: info.stream.to_owned(),
            sequence: info.stream_sequence,
            headers: message.headers.clone().unwrap_or_default(),
            attempts: 0,
        }
    }

    /// Reads a message that was set aside. One that somebody else has published there stands for itself.
    pub(super) fn set_aside(message: &jetstream::Message, info: &Info<'_>) -> Self {
        let published = Self::delivered(message, info);
        let text = |name: &str| published.headers.get(name).map(HeaderValue::as_str);
        let Some((stream, sequence)) = text(ASIDE_POSITION)
            .and_then(|position| position.rsplit_once('.'))
            .and_then(|(stream, sequence)| Some((stream.to_owned(), sequence.parse().ok()?)))
        else {
            return published;
        };
        let mut headers = published.headers_aside();
        if let Some(id) = published.headers.get(ASIDE_ID) {
            headers.insert(MESSAGE_ID, id.clone());
        }
        Self {
            subject: text(ASIDE_SUBJECT).unwrap_or_default().to_owned(),
            stream,
            sequence,
            headers,
            attempts: text(ASIDE_ATTEMPTS)
                .and_then(|number| number.parse().ok())
                .unwrap_or_default(),
        }
    }

    /// Returns the message as the inbox sees it.
    pub(super) fn read(&self, payload: &[u8]) -> Message {
        let mut read = Message::new(payload)
            .with_topic(self.subject.as_str())
            .with_position(self.stream.as_str(), self.sequence);
        for (name, values) in self.headers.iter() {
            let text: &str = name.as_ref();
            for value in values {
                if text.eq_ignore_ascii_case(MESSAGE_ID) {
                    read = read.with_broker_id(value.as_str());
                }
                read = read.with_header(text, value.as_str());
            }
        }
        read
    }

    /// Returns the headers with which the message is set aside: its own, without what is an order to the server or what an
    /// earlier time in another place has left.
    pub(super) fn headers_aside(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, values) in self.headers.iter() {
            if !is_of_the_server(name) && !is_aside(name) {
                for value in values {
                    headers.append(name.clone(), value.clone());
                }
            }
        }
        headers
    }

    /// Returns the id of its first publication.
    pub(super) fn id(&self) -> Option<&HeaderValue> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(name, _)| {
            let name: &str = name.as_ref();
            name.eq_ignore_ascii_case(MESSAGE_ID)
        });
        found.and_then(|(_, values)| values.first())
    }
}

/// What begins so is an order to the server, and was meant for the first publication.
fn is_of_the_server(name: &HeaderName) -> bool {
    let name: &str = name.as_ref();
    name.to_ascii_lowercase().starts_with("nats-")
}

fn is_aside(name: &HeaderName) -> bool {
    let name: &str = name.as_ref();
    ASIDE.iter().any(|own| own.eq_ignore_ascii_case(name))
}
