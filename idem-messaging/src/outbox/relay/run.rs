//! Publishing the claimed events of one partition, one after another.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::timeout;
use uuid::Uuid;

use super::Options;
use crate::outbox::publisher::{OutboxEvent, PublishError, PublishErrorKind, Publisher};
use crate::outbox::store::{ClaimedEvent, Settled, Settlement};

/// The longest error that is stored, in characters.
const ERROR_MAX: usize = 1_000;

/// What has become of one event, and whether the broker was found unavailable.
pub(super) struct Finished {
    pub(super) settlement: Settlement,
    /// For how long the relay leaves the broker alone, if nobody can publish now.
    pub(super) unavailable: Option<Duration>,
}

/// What every run of one claim knows.
pub(super) struct Shared<P> {
    pub(super) publisher: Arc<P>,
    pub(super) options: Options,
    pub(super) token: Uuid,
    /// When the lease ends at the earliest, by this machine's monotonic clock.
    pub(super) lease_end: Instant,
    /// For how long the broker is left alone if it is unavailable.
    pub(super) pause: Duration,
    pub(super) permits: Arc<Semaphore>,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) finished: mpsc::UnboundedSender<Finished>,
}

/// The events of one partition, or one event without a partition. What is left when it is dropped is settled too: the
/// publisher may panic.
pub(super) struct Run<P> {
    shared: Arc<Shared<P>>,
    /// The first one is being published.
    events: VecDeque<ClaimedEvent>,
    is_publishing: bool,
}

impl<P: Publisher> Run<P> {
    pub(super) fn new(shared: Arc<Shared<P>>, events: VecDeque<ClaimedEvent>) -> Self {
        Self {
            shared,
            events,
            is_publishing: false,
        }
    }

    pub(super) async fn publish(mut self) {
        let permits = Arc::clone(&self.shared.permits);
        // It is never closed.
        let Ok(_permit) = permits.acquire().await else {
            return;
        };
        while let Some(ClaimedEvent { event, .. }) = self.events.front() {
            if event.attempt > self.shared.options.max_attempts {
                // The relays that claimed it have died, each time.
                let error =
                    "each lease of this event ended before its relay said what became of it";
                self.settle_first(
                    Settled::Dead {
                        error: error.to_owned(),
                    },
                    None,
                );
                continue;
            }
            if !self.shared.may_begin() {
                return;
            }
            self.is_publishing = true;
            let limit = self.shared.options.publish_timeout;
            let answer = timeout(limit, self.shared.publisher.publish(event)).await;
            self.is_publishing = false;
            let error = match answer {
                Ok(Ok(())) => {
                    self.settle_first(Settled::Published, None);
                    continue;
                }
                Ok(Err(error)) => error,
                Err(_) => {
                    PublishError::retry("the publisher did not answer within the publish timeout")
                }
            };
            let goes_on = self.failed(&error);
            if !goes_on {
                return;
            }
        }
    }

    /// Settles the first event as failed, and returns whether the next one may be published.
    fn failed(&mut self, error: &PublishError) -> bool {
        let attempt = self.events.front().map_or(1, |first| first.event.attempt);
        match error.kind() {
            PublishErrorKind::Unavailable => {
                let after = self
                    .shared
                    .pause
                    .max(error.retry_after().unwrap_or_default());
                self.settle_first(Settled::Released { after }, Some(after));
                false
            }
            PublishErrorKind::Permanent => {
                self.settle_first(
                    Settled::Dead {
                        error: shortened(error),
                    },
                    None,
                );
                true
            }
            PublishErrorKind::Retry if attempt >= self.shared.options.max_attempts => {
                self.settle_first(
                    Settled::Dead {
                        error: shortened(error),
                    },
                    None,
                );
                true
            }
            PublishErrorKind::Retry => {
                let wait = self.shared.options.backoff.after(attempt);
                let after = wait.max(error.retry_after().unwrap_or_default());
                self.settle_first(
                    Settled::Retry {
                        after,
                        error: shortened(error),
                    },
                    None,
                );
                false
            }
        }
    }
}

impl<P> Run<P> {
    fn settle_first(&mut self, outcome: Settled, unavailable: Option<Duration>) {
        let Some(ClaimedEvent { seq, event }) = self.events.pop_front() else {
            return;
        };
        let settlement = Settlement {
            seq,
            token: self.shared.token,
            partition: partition(&event),
            outcome,
        };
        // The worker is gone only if the whole relay was dropped.
        let _ = self.shared.finished.send(Finished {
            settlement,
            unavailable,
        });
    }
}

impl<P> Drop for Run<P> {
    fn drop(&mut self) {
        if self.is_publishing {
            let attempt = self.events.front().map_or(1, |first| first.event.attempt);
            let error = "the publisher panicked".to_owned();
            let outcome = if attempt >= self.shared.options.max_attempts {
                Settled::Dead { error }
            } else {
                let after = self.shared.options.backoff.after(attempt);
                Settled::Retry { after, error }
            };
            self.settle_first(outcome, None);
        }
        while !self.events.is_empty() {
            self.settle_first(
                Settled::Released {
                    after: Duration::ZERO,
                },
                None,
            );
        }
    }
}

impl<P> Shared<P> {
    /// Whether a publication that begins now ends before the lease does, and nobody has asked the relay to stop.
    fn may_begin(&self) -> bool {
        !*self.stop.borrow() && Instant::now() + self.options.publish_timeout <= self.lease_end
    }
}

/// The events of each partition in their order, and each event without one by itself.
pub(super) fn by_partition(events: Vec<ClaimedEvent>) -> Vec<VecDeque<ClaimedEvent>> {
    let mut partitions: BTreeMap<_, VecDeque<_>> = BTreeMap::new();
    let mut runs = Vec::new();
    for claimed in events {
        match partition(&claimed.event) {
            Some(partition) => partitions.entry(partition).or_default().push_back(claimed),
            None => runs.push(VecDeque::from([claimed])),
        }
    }
    runs.extend(partitions.into_values());
    runs
}

fn partition(event: &OutboxEvent) -> Option<(String, String)> {
    let key = event.partition_key()?;
    Some((event.topic().to_owned(), key.to_owned()))
}

/// The error and its sources, as far as they are stored. PostgreSQL stores no U+0000.
fn shortened(error: &PublishError) -> String {
    let text = error.to_string();
    text.chars()
        .filter(|c| *c != '\0')
        .take(ERROR_MAX)
        .collect()
}
