//! The two consumers of the events. Each has a namespace of its own, and so its own record of a message.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use idem_messaging::inbox::{
    Backoff, Consumer, ConsumerError, Handler, Message, MessageKey, Policy, Received,
};
use idem_runtime::IdempotencyKey;
use idem_runtime::handler::DescribeOperation as _;

use crate::database::Pool;
use crate::notifier::Notifier;
use crate::notify::{Notify, notify};
use crate::overview::{Project, project};

/// What the consumers need.
#[derive(Debug, Clone)]
pub struct Consumers {
    /// The database.
    pub pool: Pool,
    /// The service that tells supervisors.
    pub notifier: Notifier,
    /// How many messages were delivered.
    pub deliveries: Deliveries,
}

impl Consumers {
    /// Returns the consumer that tells supervisors. What identifies a message is its source and id.
    ///
    /// # Errors
    /// None for this operation and this key.
    pub fn notifier(&self) -> Result<Consumer<impl Handler + use<>>, ConsumerError> {
        let all = self.clone();
        let handler = move |key: IdempotencyKey, message: Arc<Message>| {
            let all = all.clone();
            async move {
                all.deliveries.count("notifier");
                let fact = Received::json(&message)?;
                notify(&all.pool, &key, all.pool.clone(), all.notifier, fact).await
            }
        };
        Consumer::new(Notify::OPERATION, MessageKey::cloud_event(), handler)?.with_policy(policy())
    }

    /// Returns the consumer that keeps the overview.
    ///
    /// # Errors
    /// None for this operation and this key.
    pub fn overview(&self) -> Result<Consumer<impl Handler + use<>>, ConsumerError> {
        let all = self.clone();
        let handler = move |key: IdempotencyKey, message: Arc<Message>| {
            let all = all.clone();
            async move {
                all.deliveries.count("overview");
                project(&all.pool, &key, &Received::json(&message)?).await
            }
        };
        Consumer::new(Project::OPERATION, MessageKey::cloud_event(), handler)?.with_policy(policy())
    }
}

/// A person who presses buttons does not wait for minutes.
fn policy() -> Policy {
    let short = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
    Policy::DEFAULT.with_backoff(short).with_pause(short)
}

/// The number of deliveries to each consumer, to be seen on the page: a message that comes again is one more here, and
/// has no second effect.
#[derive(Debug, Clone, Default)]
pub struct Deliveries(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Deliveries {
    fn count(&self, consumer: &'static str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(consumer).or_default() += 1;
    }

    /// Returns the numbers.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.clone()
    }
}
