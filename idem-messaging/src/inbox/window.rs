//! How long a broker may deliver a message again, against how long its record is kept.

use std::time::Duration;

/// How long after a message's first delivery a broker may deliver it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedeliveryWindow {
    /// At the most so long.
    Bounded(Duration),
    /// Without an end.
    Unlimited,
}

/// A message may come back after its record is gone, and its effect would happen again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RetentionTooShort {
    /// The window is longer than the retention.
    #[error(
        "the broker may deliver a message of consumer `{consumer}` again for {window:?}, and its record is kept for {retention:?}: a message that comes back later has its effect twice; set `retention` above the window, or let the broker give up earlier"
    )]
    Bounded {
        /// The consumer.
        consumer: String,
        /// How long the broker may deliver again.
        window: Duration,
        /// How long the record is kept.
        retention: Duration,
    },
    /// The window has no end.
    #[error(
        "the broker keeps and delivers a message of consumer `{consumer}` without an end, and its record is kept for {retention:?}: a message whose acknowledgement was lost and that comes back later has its effect twice; limit its age or its deliveries at the broker (NATS: `max_age`, `max_deliver`; RabbitMQ: `with_message_ttl`), to less than the retention"
    )]
    Unlimited {
        /// The consumer.
        consumer: String,
        /// How long the record is kept.
        retention: Duration,
    },
}

impl RedeliveryWindow {
    /// Computes the window of a NATS JetStream consumer: the stream's `max_age`, or the time that `max_deliver` deliveries
    /// take, whichever ends first. `None` stands for no limit.
    ///
    /// Delivery `n` waits for the `n`-th of `backoff`, and for the last of them from there on; without any, for `ack_wait`
    /// (NATS documentation, *Consumer Details*). The waits that a consumer asks for with a nak come on top: `nak` is the
    /// longest of them.
    pub fn nats(
        max_age: Option<Duration>,
        max_deliver: Option<u32>,
        ack_wait: Duration,
        backoff: &[Duration],
        nak: Duration,
    ) -> Self {
        let by_deliveries = max_deliver.map(|deliveries| {
            let listed = backoff.iter().take(deliveries as usize).sum::<Duration>();
            let rest = deliveries.saturating_sub(u32::try_from(backoff.len()).unwrap_or(u32::MAX));
            let last = backoff.last().copied().unwrap_or(ack_wait);
            listed
                .saturating_add(last.saturating_mul(rest))
                .saturating_add(nak.saturating_mul(deliveries))
        });
        match (max_age, by_deliveries) {
            (Some(age), Some(deliveries)) => Self::Bounded(age.min(deliveries)),
            (Some(limit), None) | (None, Some(limit)) => Self::Bounded(limit),
            (None, None) => Self::Unlimited,
        }
    }

    /// Compares the window with the retention of a consumer's records.
    ///
    /// # Errors
    /// [`RetentionTooShort`] if the window is longer, or has no end.
    pub fn check(self, consumer: &str, retention: Duration) -> Result<(), RetentionTooShort> {
        let consumer = consumer.to_owned();
        match self {
            Self::Bounded(window) if window <= retention => Ok(()),
            Self::Bounded(window) => Err(RetentionTooShort::Bounded {
                consumer,
                window,
                retention,
            }),
            Self::Unlimited => Err(RetentionTooShort::Unlimited {
                consumer,
                retention,
            }),
        }
    }
}
