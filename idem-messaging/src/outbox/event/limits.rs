//! Maximum sizes of the parts of an event.
//!
//! Columns and checks use the same constants. Therefore the database never cuts or refuses an event that was built.

/// Maximum length of a label, in characters.
pub const LABEL_MAX: usize = 255;

/// Maximum length of a topic, in characters. It is the limit of an AMQP 0-9-1 routing key (a short string), and close to
/// Kafka's limit of a topic (249).
pub const TOPIC_MAX: usize = 255;

/// Maximum length of a partition key, in characters.
pub const PARTITION_KEY_MAX: usize = 255;

/// Maximum length of a type, source, subject or content type, in characters.
pub const ATTRIBUTE_MAX: usize = 255;

/// Maximum number of bytes of all header names and values together: 16 KiB.
pub const HEADERS_MAX: usize = 16 * 1024;

/// Maximum number of bytes of a `tracestate`: 512, which is as much as W3C Trace Context, section 3.3.1.5, asks everybody
/// to pass on.
pub const TRACESTATE_MAX: usize = 512;

/// Default maximum of a payload in bytes: 960 KiB, which is NATS's default `max_payload` of 1 MiB with room for headers.
/// [`EventBuilder::payload_limit`](super::EventBuilder::payload_limit) changes it.
pub const PAYLOAD_MAX: usize = 960 * 1024;
