//! The time and the chance that an attempt loop depends on, so that tests can stand in their place.

use std::fmt;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime};

/// A pause that has begun.
pub type Pause<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The time of an attempt loop. [`SystemClock`] is the machine's; a test gives one whose pauses take no time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the time, for the budget.
    fn now(&self) -> Instant;

    /// Returns the time of day, with which a date in `Retry-After` is compared.
    fn date(&self) -> SystemTime;

    /// Returns a random number from 0 to 1, by which a pause is shortened.
    fn random(&self) -> f64;

    /// Waits.
    fn pause(&self, time: Duration) -> Pause<'_>;
}

/// The machine's clock, with the pauses of tokio.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        // Tokio's, so that a test with a paused runtime has one time.
        tokio::time::Instant::now().into_std()
    }

    fn date(&self) -> SystemTime {
        SystemTime::now()
    }

    fn random(&self) -> f64 {
        fastrand::f64()
    }

    fn pause(&self, time: Duration) -> Pause<'_> {
        Box::pin(tokio::time::sleep(time))
    }
}
