//! Exponential backoff with full jitter.

use std::time::Duration;

/// A random time up to a limit that doubles with each attempt: full jitter, as in *Exponential Backoff and Jitter* of the
/// AWS Architecture Blog.
#[derive(Debug, Clone, Copy)]
pub(super) struct RelayBackoff {
    base: Duration,
    max: Duration,
}

impl RelayBackoff {
    pub(super) const fn new(base: Duration, max: Duration) -> Self {
        Self { base, max }
    }

    /// Returns the time to wait after the attempt of this number, from 1.
    pub(super) fn after(self, attempt: u32) -> Duration {
        self.limit(attempt).mul_f64(fastrand::f64())
    }

    fn limit(self, attempt: u32) -> Duration {
        let doubled = 1_u32
            .checked_shl(attempt.saturating_sub(1))
            .unwrap_or(u32::MAX);
        self.base.saturating_mul(doubled).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_doubles_up_to_its_maximum() {
        let backoff = RelayBackoff::new(Duration::from_secs(1), Duration::from_secs(10));
        let limits: Vec<_> = [1, 2, 3, 4, 5, 40]
            .map(|attempt| backoff.limit(attempt).as_secs())
            .into();
        assert_eq!(limits, [1, 2, 4, 8, 10, 10]);
    }

    #[test]
    fn a_wait_is_anywhere_below_the_limit() {
        let backoff = RelayBackoff::new(Duration::from_secs(1), Duration::from_secs(10));
        let waits: Vec<_> = (0..1_000).map(|_| backoff.after(3)).collect();
        assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(4)));
        assert!(waits.iter().any(|wait| *wait < Duration::from_secs(1)));
        assert!(waits.iter().any(|wait| *wait > Duration::from_secs(3)));
    }
}
