//! The policy of an operation, as plain data.

use std::time::Duration;

use crate::values::error::{Field, Invalid, Reason};

/// The default retention: 24 hours.
pub const DEFAULT_RETENTION: Duration = Duration::from_hours(24);

/// The longest retention: 3,650 days.
pub const MAX_RETENTION: Duration = Duration::from_hours(3_650 * 24);

/// The longest time that rows of an archive are kept: 36,500 days.
#[cfg(feature = "operate")]
pub(crate) const MAX_ARCHIVE_RETENTION: Duration = Duration::from_hours(36_500 * 24);

/// How long a duplicate waits for the running attempt if `on_conflict = "wait"` gives no time: 2
/// seconds.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(2);

/// The longest wait: 60 seconds.
pub const MAX_WAIT: Duration = Duration::from_mins(1);

/// The shortest `retry_after` of [`Error::InFlight`](crate::Error::InFlight), unless the lease ends
/// sooner: 1 second. It is also the value for an attempt whose age is not known.
pub const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The longest `retry_after` of [`Error::InFlight`](crate::Error::InFlight): 5 seconds. Between the
/// two bounds, `retry_after` is the age of the attempt that holds the key.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// The shortest lease: 1 second.
pub const MIN_LEASE: Duration = Duration::from_secs(1);

/// The longest lease: 24 hours.
pub const MAX_LEASE: Duration = Duration::from_hours(24);

/// The default limit of a recorded request: 64 KiB of canonical JSON.
pub const DEFAULT_REQUEST_LIMIT: usize = 64 * 1024;

/// The default limit of a recorded result or failure: 1 MiB of JSON.
pub const DEFAULT_RESULT_LIMIT: usize = 1024 * 1024;

/// The answer to a duplicate while the first attempt is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// Returns [`Error::InFlight`](crate::Error::InFlight) at once.
    #[default]
    Reject,
    /// Waits up to this long, without a pooled connection; all calls of a process that wait for one
    /// key through one pool are served by one poller. Then replays, or returns
    /// [`Error::InFlight`](crate::Error::InFlight) if the time is over, which includes the pool's queue
    /// once the call has begun to wait.
    Wait(Duration),
}

/// How a handler's `Err` is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Failures {
    /// Rolls everything back and keeps the key unused: the next call runs the body again.
    #[default]
    Retry,
    /// Records and replays a permanent failure; the body's writes are rolled back. See
    /// [`Failure`](crate::Failure).
    Record,
}

/// The `F` of an operation that records no failure: an `Err` leaves the key fresh. The default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryFailures {}

/// The `F` of an operation that records permanent failures, of an error type that implements
/// [`Failure`](crate::Failure).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordFailures {}

/// How a record past its retention is read until a purge deletes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expiry {
    /// Replays it. This is the safe choice: a late retry does not run the body twice because the
    /// purge has not run yet.
    #[default]
    Replay,
    /// Treats it as absent, by the database's clock: the body runs again and replaces the record.
    Strict,
}

/// What happens to a key whose lease lapsed: its attempt crashed, hung, or could not reach the
/// database for the whole lease. A body that panics counts as lapsed at once. It is not known
/// whether the attempt's effect happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLapse {
    /// The key stays blocked until its outcome is settled by hand. The first caller who finds the
    /// lease lapsed makes the record *unknown*, and every caller gets
    /// [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown). This is the safe choice: no effect
    /// happens twice.
    #[default]
    Unknown,
    /// The next caller takes over and runs the body again, or without one a
    /// [`TakeoverWorker`](crate::TakeoverWorker). Choose this if the effect is safe to
    /// repeat: the provider deduplicates by [`external_key`](crate::Attempt::external_key), or a
    /// second mail is better than none.
    Retry,
}

#[cfg(any(
    feature = "mysql",
    feature = "operate",
    feature = "postgres",
    feature = "sqlite"
))]
impl OnLapse {
    /// Returns the code as it is stored.
    pub(crate) const fn code(self) -> i16 {
        match self {
            Self::Unknown => 1,
            Self::Retry => 2,
        }
    }
}

/// The lease of an operation: how long an attempt owns its key without a heartbeat, and what
/// happens after that.
///
/// ```
/// use std::time::Duration;
///
/// use idem_runtime::policy::{Lease, OnLapse};
///
/// assert!(Lease::new(Duration::from_secs(300), OnLapse::Unknown).is_ok());
/// assert!(Lease::new(Duration::ZERO, OnLapse::Unknown).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    duration: Duration,
    on_lapse: OnLapse,
}

impl Lease {
    /// Creates a lease of [`MIN_LEASE`] to [`MAX_LEASE`].
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Lease`] if `duration` is shorter or longer.
    pub fn new(duration: Duration, on_lapse: OnLapse) -> Result<Self, Invalid> {
        let reason = if duration < MIN_LEASE {
            Reason::TooShortTime {
                limit: MIN_LEASE,
                found: duration,
            }
        } else if duration > MAX_LEASE {
            Reason::TooLongTime {
                limit: MAX_LEASE,
                found: duration,
            }
        } else {
            return Ok(Self { duration, on_lapse });
        };
        Err(Invalid::new(Field::Lease, reason))
    }

    /// Creates a lease in a constant, where a bad duration is a compile error.
    pub(crate) const fn constant(duration: Duration, on_lapse: OnLapse) -> Self {
        assert!(
            duration.as_millis() >= MIN_LEASE.as_millis(),
            "a lease is at least 1 second"
        );
        assert!(
            duration.as_nanos() <= MAX_LEASE.as_nanos(),
            "a lease is at most 24 hours"
        );
        Self { duration, on_lapse }
    }

    /// Returns how long an attempt owns its key after its claim and after each heartbeat.
    pub const fn duration(&self) -> Duration {
        self.duration
    }

    /// Returns what happens to the key when the lease lapses.
    pub const fn on_lapse(&self) -> OnLapse {
        self.on_lapse
    }

    /// Returns the duration in microseconds, the unit of the stores.
    pub(crate) fn micros(&self) -> i64 {
        i64::try_from(self.duration.as_micros()).unwrap_or(i64::MAX)
    }
}

/// The options of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// How long the record is kept after it was written, by the database's clock.
    pub retention: Duration,
    /// The answer to a duplicate while the first attempt is running.
    pub on_conflict: OnConflict,
    /// How a handler's `Err` is treated.
    pub failures: Failures,
    /// How a record past its retention is read until a purge deletes it.
    pub expiry: Expiry,
    /// Whether the request is stored beside its fingerprint, to diagnose mismatches. Off by
    /// default: requests may contain personal data.
    pub record_request: bool,
    /// The largest request that is stored, in bytes of canonical JSON. Of a larger request only the
    /// hash is stored, and the fact that it was too large; it is compared like any other.
    pub request_limit: usize,
    /// The largest result or failure that is recorded, in bytes of JSON. A call with a larger one returns
    /// [`Error::TooLargeToRecord`](crate::Error::TooLargeToRecord).
    pub result_limit: usize,
    /// Whether a call without a key is refused. If `false`, such a call runs without idempotency.
    pub key_required: bool,
    /// Whether requests are compared.
    pub fingerprint: bool,
    /// The lease in lease mode, or `None` in atomic mode.
    pub lease: Option<Lease>,
}

impl Policy {
    /// The defaults of the attribute's options.
    pub const DEFAULT: Self = Self {
        retention: DEFAULT_RETENTION,
        on_conflict: OnConflict::Reject,
        failures: Failures::Retry,
        expiry: Expiry::Replay,
        record_request: false,
        request_limit: DEFAULT_REQUEST_LIMIT,
        result_limit: DEFAULT_RESULT_LIMIT,
        key_required: true,
        fingerprint: true,
        lease: None,
    };

    /// Returns the retention in microseconds, the unit of the stores.
    pub(crate) fn retention_micros(&self) -> i64 {
        i64::try_from(self.retention.as_micros()).unwrap_or(i64::MAX)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}
