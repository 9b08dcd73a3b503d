//! How many attempts a message has used up.
//!
//! The server counts deliveries, and a nak carries no number. Therefore the numbers are in a stream, one message for each
//! sequence number. It is written after an error of the handler's own, and read at a repeated delivery only.
//!
//! It is no key-value bucket, although it is used as one: to create a bucket, the client asks for the account's limits, and
//! cannot read what a server 2.9 answers.

use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::stream::{Config, LastRawMessageErrorKind, Stream};

/// How long a number is kept after its last change. After that a message has all its attempts again.
const KEPT: Duration = Duration::from_hours(7 * 24);

#[derive(Debug)]
pub(super) struct Attempts {
    jetstream: jetstream::Context,
    numbers: Stream,
    /// The subject without the sequence number.
    subject: String,
}

impl Attempts {
    /// Opens the numbers of a consumer, or creates them with as many replicas as its stream has.
    pub(super) async fn open(
        jetstream: &jetstream::Context,
        consumer: &str,
        stream: &str,
        replicas: usize,
    ) -> Result<Self, async_nats::Error> {
        let subject = format!("idem_attempts.{consumer}.{stream}");
        let config = Config {
            // With the length, no two pairs of names give one.
            name: format!("idem_attempts_{}_{stream}_{consumer}", stream.len()),
            description: Some("attempts used up by messages that failed".to_owned()),
            subjects: vec![format!("{subject}.*")],
            max_messages_per_subject: 1,
            max_age: KEPT,
            num_replicas: replicas,
            ..Config::default()
        };
        Ok(Self {
            jetstream: jetstream.clone(),
            numbers: jetstream.get_or_create_stream(config).await?,
            subject,
        })
    }

    pub(super) async fn read(&self, sequence: u64) -> Result<u32, async_nats::Error> {
        let subject = self.subject(sequence);
        let message = match self.numbers.get_last_raw_message_by_subject(&subject).await {
            Ok(message) => message,
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        Ok(str::from_utf8(&message.payload)?.parse()?)
    }

    pub(super) async fn write(
        &self,
        sequence: u64,
        attempts: u32,
    ) -> Result<(), async_nats::Error> {
        let number = attempts.to_string().into();
        let sent = self.jetstream.publish(self.subject(sequence), number);
        sent.await?.await?;
        Ok(())
    }

    pub(super) async fn forget(&self, sequence: u64) -> Result<(), async_nats::Error> {
        self.numbers.purge().filter(self.subject(sequence)).await?;
        Ok(())
    }

    fn subject(&self, sequence: u64) -> String {
        format!("{}.{sequence}", self.subject)
    }
}
