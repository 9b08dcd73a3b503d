//! A broker that remembers what it was given, and does what a law tells it to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_messaging::outbox::{OutboxEvent, PublishError, Publisher};
use idem_tests::patience::in_time;
use tokio::sync::{Semaphore, watch};

/// What the broker does with an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Keep,
    Retry,
    Permanent,
    Unavailable,
    UnavailableForLong,
    Panic,
    /// Waits until the law lets it go on, before the broker keeps the event.
    WaitAndKeep,
    /// Keeps it, and waits before it says so.
    KeepAndWait,
    /// Waits, and then refuses it for good.
    WaitAndRefuse,
}

#[derive(Clone)]
pub(crate) struct Broker(Arc<Inner>);

struct Inner {
    fates: Mutex<BTreeMap<String, Fate>>,
    kept: watch::Sender<Vec<OutboxEvent>>,
    asked: watch::Sender<Vec<String>>,
    gate: Semaphore,
}

impl Broker {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            fates: Mutex::default(),
            kept: watch::Sender::default(),
            asked: watch::Sender::default(),
            gate: Semaphore::new(0),
        }))
    }

    /// Sets what becomes of the event of this name from now on.
    pub(crate) fn set(&self, name: &str, fate: Fate) {
        self.0
            .fates
            .lock()
            .expect("no panic")
            .insert(name.to_owned(), fate);
    }

    /// Lets one publication that waits go on.
    pub(crate) fn open(&self) {
        self.0.gate.add_permits(1);
    }

    /// Returns the names of what was kept, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.0.kept.borrow().iter().map(name).collect()
    }

    pub(crate) fn kept(&self) -> Vec<OutboxEvent> {
        self.0.kept.borrow().clone()
    }

    /// Returns how often an event of this name was handed to the broker.
    pub(crate) fn asked(&self, name: &str) -> usize {
        self.0
            .asked
            .borrow()
            .iter()
            .filter(|asked| *asked == name)
            .count()
    }

    pub(crate) async fn until_asked(&self, name: &str) {
        let mut asked = self.0.asked.subscribe();
        let what = format!("the relay hands {name} to the broker");
        in_time(
            &what,
            asked.wait_for(|asked| asked.iter().any(|asked| asked == name)),
        )
        .await
        .expect("the broker is there");
    }

    pub(crate) async fn until_kept(&self, count: usize) {
        let mut kept = self.0.kept.subscribe();
        let what = format!("the broker keeps {count} events");
        in_time(&what, kept.wait_for(|kept| kept.len() >= count))
            .await
            .expect("the broker is there");
    }
}

fn name(event: &OutboxEvent) -> String {
    String::from_utf8_lossy(event.payload()).into_owned()
}

impl Publisher for Broker {
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        let name = name(event);
        let fates = self.0.fates.lock().expect("no panic").clone();
        let fate = fates.get(&name).cloned().unwrap_or(Fate::Keep);
        self.0.asked.send_modify(|asked| asked.push(name));
        let keep = || self.0.kept.send_modify(|kept| kept.push(event.clone()));
        let wait = async || {
            let permit = self.0.gate.acquire().await;
            permit.expect("it is never closed").forget();
        };
        match fate {
            Fate::Keep => keep(),
            Fate::Retry => return Err(PublishError::retry("refused this time")),
            Fate::Permanent => return Err(PublishError::permanent("refused for good")),
            Fate::Unavailable => {
                return Err(
                    PublishError::unavailable("nobody answers").after(Duration::from_millis(1))
                );
            }
            Fate::UnavailableForLong => {
                let hour = Duration::from_hours(1);
                return Err(PublishError::unavailable("nobody answers").after(hour));
            }
            Fate::Panic => panic!("the law wants it"),
            Fate::WaitAndKeep => {
                wait().await;
                keep();
            }
            Fate::KeepAndWait => {
                keep();
                wait().await;
            }
            Fate::WaitAndRefuse => {
                wait().await;
                return Err(PublishError::permanent("refused for good, late"));
            }
        }
        Ok(())
    }
}
