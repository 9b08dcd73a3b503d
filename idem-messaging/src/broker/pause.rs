//! The pause of a source while nobody can be served.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Holds all workers of a source back until a time.
#[derive(Debug)]
pub(super) struct Pause(Mutex<Instant>);

impl Pause {
    pub(super) fn none() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    /// Extends the pause, so that it ends after `wait` at the earliest.
    pub(super) fn at_least(&self, wait: Duration) {
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *until = (*until).max(Instant::now() + wait);
    }

    /// Waits until the pause is over.
    pub(super) async fn over(&self) {
        loop {
            let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }
}
