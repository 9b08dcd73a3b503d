//! A publisher that stops before or after a publication, until its law lets it go on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use idem_messaging::outbox::{OutboxEvent, PublishError, Publisher};
use idem_tests::patience::in_time;
use tokio::sync::{Semaphore, watch};

/// Where it stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// After the claim, before the broker has the event.
    Before,
    /// After the broker's confirm, before the relay hears of it.
    After,
}

/// Publishes by a publisher to a real broker. Clones share it.
pub(crate) struct Halting<P>(Arc<Inner<P>>);

struct Inner<P> {
    publisher: P,
    /// The next publication of a payload that stops, and where.
    halts: Mutex<BTreeMap<Vec<u8>, Halt>>,
    halted: watch::Sender<u32>,
    failed: watch::Sender<Vec<String>>,
    gate: Semaphore,
}

impl<P> Clone for Halting<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P> Halting<P> {
    pub(crate) fn new(publisher: P) -> Self {
        Self(Arc::new(Inner {
            publisher,
            halts: Mutex::default(),
            halted: watch::Sender::new(0),
            failed: watch::Sender::default(),
            gate: Semaphore::new(0),
        }))
    }

    /// Stops at the next publication of this payload.
    pub(crate) fn halt(&self, payload: &str, halt: Halt) {
        let mut halts = self.0.halts.lock().expect("no panic");
        halts.insert(payload.as_bytes().to_owned(), halt);
    }

    /// Waits until a publication has stopped.
    pub(crate) async fn until_halted(&self) {
        let mut halted = self.0.halted.subscribe();
        let reached = in_time("a publication stops", halted.wait_for(|halted| *halted > 0));
        reached.await.expect("it is there");
    }

    /// Waits until the broker has failed so many publications.
    pub(crate) async fn until_failed(&self, count: usize) {
        let mut failed = self.0.failed.subscribe();
        let reached = in_time(
            "a publication fails",
            failed.wait_for(|failed| failed.len() >= count),
        );
        reached.await.expect("it is there");
    }

    /// Lets the publication that has stopped go on.
    pub(crate) fn go_on(&self) {
        self.0.gate.add_permits(1);
    }

    async fn stop(&self) {
        self.0.halted.send_modify(|halted| *halted += 1);
        let permit = self.0.gate.acquire().await;
        permit.expect("it is never closed").forget();
    }
}

impl<P: Publisher> Publisher for Halting<P> {
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        let halt = {
            let mut halts = self.0.halts.lock().expect("no panic");
            halts.remove(event.payload())
        };
        if halt == Some(Halt::Before) {
            self.stop().await;
        }
        let published = self.0.publisher.publish(event).await;
        if let Err(error) = &published {
            let failed = &self.0.failed;
            failed.send_modify(|failed| failed.push(error.to_string()));
        }
        if halt == Some(Halt::After) {
            self.stop().await;
        }
        published
    }
}
