//! How many attempts a message has used up.
//!
//! The server counts deliveries, and a nak carries no number. Therefore the number is in a key-value bucket, which is
//! written after an error of the handler's own and read at a repeated delivery only.

use std::time::Duration;

use async_nats::jetstream::{self, kv};

/// How long a number is kept after its last change. After that a message has all its attempts again.
const KEPT: Duration = Duration::from_hours(7 * 24);

#[derive(Debug)]
pub(super) struct Attempts {
    bucket: kv::Store,
    stream: String,
}

impl Attempts {
    /// Opens the bucket of a consumer, or creates it with as many replicas as its stream has.
    pub(super) async fn open(
        jetstream: &jetstream::Context,
        consumer: &str,
        stream: &str,
        replicas: usize,
    ) -> Result<Self, async_nats::Error> {
        let name = format!("idem_attempts_{consumer}");
        let bucket = match jetstream.get_key_value(&name).await {
            Ok(bucket) => bucket,
            Err(_) => {
                let config = kv::Config {
                    bucket: name,
                    description: "attempts used up by messages that failed".to_owned(),
                    history: 1,
                    max_age: KEPT,
                    num_replicas: replicas,
                    ..kv::Config::default()
                };
                jetstream.create_key_value(config).await?
            }
        };
        Ok(Self {
            bucket,
            stream: stream.to_owned(),
        })
    }

    pub(super) async fn read(&self, sequence: u64) -> Result<u32, async_nats::Error> {
        let value = self.bucket.get(self.key(sequence)).await?;
        let text = value.as_deref().and_then(|text| str::from_utf8(text).ok());
        Ok(text.and_then(|text| text.parse().ok()).unwrap_or_default())
    }

    pub(super) async fn write(
        &self,
        sequence: u64,
        attempts: u32,
    ) -> Result<(), async_nats::Error> {
        let value = attempts.to_string().into();
        self.bucket.put(self.key(sequence), value).await?;
        Ok(())
    }

    pub(super) async fn forget(&self, sequence: u64) -> Result<(), async_nats::Error> {
        Ok(self.bucket.purge(self.key(sequence)).await?)
    }

    fn key(&self, sequence: u64) -> String {
        format!("{}.{sequence}", self.stream)
    }
}
