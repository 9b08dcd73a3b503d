//! The relay, as a process of its own would be: it can be killed at any moment.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use idem_messaging::outbox::{Outbox, Relay};
use tokio::task::JoinHandle;

use crate::broker::Publisher;
use crate::database::Pool;

/// A relay that is started and killed.
#[derive(Debug)]
pub struct RelaySwitch {
    pool: Pool,
    outbox: Outbox,
    publisher: Publisher,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl RelaySwitch {
    /// Starts a relay.
    pub fn start(pool: Pool, outbox: Outbox, publisher: Publisher) -> Self {
        let switch = Self {
            pool,
            outbox,
            publisher,
            task: Mutex::default(),
        };
        switch.restart();
        switch
    }

    /// Starts the relay again, if it does not run.
    pub fn restart(&self) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let relay = Relay::new(self.pool.clone(), &self.outbox, self.publisher.clone())
            // What a killed relay had in hand is published again after this time.
            .publish_timeout(Duration::from_secs(5))
            .lease(Duration::from_secs(10))
            // Published events stay, so that they can be seen and delivered again.
            .keep_for(Duration::from_hours(24));
        *task = Some(tokio::spawn(async move {
            relay.run(std::future::pending::<()>()).await;
        }));
    }

    /// Kills the relay wherever it is. Nothing is lost: what it had claimed is claimed again when its lease has ended.
    pub fn kill(&self) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task.take() {
            task.abort();
        }
    }

    /// Returns whether it runs.
    pub fn runs(&self) -> bool {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.is_some()
    }
}

impl Drop for RelaySwitch {
    fn drop(&mut self) {
        self.kill();
    }
}
