//! The message as the inbox sees it.

use async_nats::jetstream;

use crate::inbox::Message;

/// The header that carries a message's id (NATS documentation, *Headers*).
pub(super) const MESSAGE_ID: &str = "Nats-Msg-Id";

pub(super) fn read(message: &jetstream::Message, stream: &str, sequence: u64) -> Message {
    let mut read = Message::new(message.payload.to_vec())
        .with_topic(message.subject.as_str())
        .with_position(stream, sequence);
    for (name, values) in message.headers.iter().flat_map(|headers| headers.iter()) {
        let name: &str = name.as_ref();
        for value in values {
            if name.eq_ignore_ascii_case(MESSAGE_ID) {
                read = read.with_broker_id(value.as_str());
            }
            read = read.with_header(name, value.as_str());
        }
    }
    read
}
