//! How long to wait before another attempt.

use std::time::Duration;

/// An exponential backoff with full jitter.
///
/// The wait before retry `n`, counted from 0, is drawn evenly from zero to `base * 2^n`, and to `max` at the most. Full
/// jitter spreads the retries of many consumers best
/// (<https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>).
///
/// ```
/// use std::time::Duration;
///
/// use idem_messaging::inbox::Backoff;
///
/// let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
/// assert_eq!(backoff.wait(3, 1.0), Duration::from_secs(8));
/// assert_eq!(backoff.wait(3, 0.5), Duration::from_secs(4));
/// assert_eq!(backoff.wait(400, 1.0), Duration::from_secs(60));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    max: Duration,
}

impl Backoff {
    /// Creates a backoff from the longest wait before the first retry and the longest wait of all.
    pub const fn new(base: Duration, max: Duration) -> Self {
        Self { base, max }
    }

    /// Returns the longest wait before retry `n`, counted from 0.
    pub fn ceiling(self, n: u32) -> Duration {
        let factor = 1_u32.checked_shl(n).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.max)
    }

    /// Returns the wait before retry `n`, counted from 0. `jitter` is a random number from 0 to 1, and is taken for 1 if it
    /// is anything else.
    pub fn wait(self, n: u32, jitter: f64) -> Duration {
        let ceiling = self.ceiling(n);
        if (0.0..1.0).contains(&jitter) {
            ceiling.mul_f64(jitter)
        } else {
            ceiling
        }
    }

    /// Returns the longest wait of all.
    pub const fn max(self) -> Duration {
        self.max
    }
}
