//! How long a call waits between its attempts.

use std::time::Duration;

use tokio::time::Instant;

/// How long the library looks for the outcome of a lost COMMIT before it returns
/// [`Error::CommitUnknown`](crate::Error::CommitUnknown): 5 seconds.
pub(crate) const RESOLVE_WITHIN: Duration = Duration::from_secs(5);

/// How long a call retries where the database does not wait by itself (SQLite's shared cache) or
/// must not wait (MySQL's claim): 5 seconds.
const RETRY_LOCK_FOR: Duration = Duration::from_secs(5);

/// The deadlines of one call, and the length of its pauses.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    /// When waiting for a running attempt ends.
    conflict_deadline: Option<Instant>,
    /// When retrying after momentary locks ends.
    lock_deadline: Option<Instant>,
    /// How often this call has waited.
    waits: u32,
}

impl Backoff {
    /// Returns the pause before the call tries again after a momentary lock, or `None` if its time is
    /// over.
    pub(crate) fn retry_lock(&mut self) -> Option<Duration> {
        let until = *self
            .lock_deadline
            .get_or_insert_with(|| Instant::now() + RETRY_LOCK_FOR);
        self.pause_until(until)
    }

    /// Returns when the call stops waiting for a key that is in flight, or `None` if that is over. The
    /// time begins with the first refusal.
    pub(crate) fn wait(&mut self, limit: Duration) -> Option<Instant> {
        let now = Instant::now();
        let until = *self.conflict_deadline.get_or_insert(now + limit);
        if until <= now {
            return None;
        }
        self.waits = self.waits.saturating_add(1);
        Some(until)
    }

    /// Returns when the call stops waiting for a key that is in flight, if it has begun to.
    pub(crate) fn conflict_deadline(&self) -> Option<Instant> {
        self.conflict_deadline
    }

    /// Returns how often the call has waited for another attempt or a lock.
    pub(crate) fn waits(&self) -> u32 {
        self.waits
    }

    fn pause_until(&mut self, deadline: Instant) -> Option<Duration> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        let pause = pause(self.waits).min(left);
        self.waits = self.waits.saturating_add(1);
        Some(pause)
    }
}

/// Returns the pause before attempt `n + 2`: 2 ms, doubling up to 64 ms.
pub(crate) fn pause(n: u32) -> Duration {
    Duration::from_millis(2 << n.min(5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_another_attempt_and_for_a_momentary_lock_have_a_time_each() {
        let mut backoff = Backoff::default();
        assert!(backoff.wait(Duration::ZERO).is_none());
        assert!(backoff.retry_lock().is_some());
        let mut backoff = Backoff::default();
        assert!(backoff.retry_lock().is_some());
        assert!(backoff.wait(RETRY_LOCK_FOR * 2).is_some());
        let lock = backoff.lock_deadline.expect("it was set");
        let conflict = backoff.conflict_deadline.expect("it was set");
        assert!(lock + RETRY_LOCK_FOR <= conflict);
    }
}
