//! What an operation asks of the library, as plain data.

use std::time::Duration;

use crate::error::{Field, Invalid, Reason};

/// How long a record lives when the operation does not say: 24 hours.
pub const DEFAULT_RETENTION: Duration = Duration::from_hours(24);

/// The longest retention that an operation may ask for: 3,650 days.
pub const MAX_RETENTION: Duration = Duration::from_hours(3_650 * 24);

/// How long a duplicate waits for the attempt in flight when `on_conflict = "wait"` names no time:
/// 2 seconds.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(2);

/// The longest wait that an operation may ask for: 60 seconds.
pub const MAX_WAIT: Duration = Duration::from_mins(1);

/// When a caller refused as in flight should try again, where nothing better is known: 1 second.
pub const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The longest that a caller refused as in flight is asked to wait: 5 seconds. It grows towards this
/// with the age of the attempt that holds the key.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// The shortest lease that an operation may ask for: 1 second.
pub const MIN_LEASE: Duration = Duration::from_secs(1);

/// The longest lease that an operation may ask for: 24 hours.
pub const MAX_LEASE: Duration = Duration::from_hours(24);

/// The longest request that is kept in a record, unless the operation says otherwise: 64 KiB of canonical
/// JSON.
pub const DEFAULT_REQUEST_LIMIT: usize = 64 * 1024;

/// What a duplicate gets while the first attempt is still running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// [`Error::InFlight`](crate::Error::InFlight), at once.
    #[default]
    Reject,
    /// Up to this long, polling without a pooled connection; then a replay, or
    /// [`Error::InFlight`](crate::Error::InFlight) when the time is over.
    Wait(Duration),
}

/// What becomes of a handler's `Err`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Failures {
    /// Everything is rolled back and the key stays fresh: the next call runs the body again.
    #[default]
    Retry,
    /// A permanent failure is recorded and replayed; the body's writes are undone. See
    /// [`Failure`](crate::Failure).
    Record,
}

/// How a record past its retention is read before a purge has deleted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expiry {
    /// It still replays. The safe reading: a late retry never runs the body twice for want of a
    /// purge.
    #[default]
    Replay,
    /// It counts as absent, by the database's clock: the body runs again and the record is
    /// replaced.
    Strict,
}

/// What becomes of a key whose lease lapsed: its attempt crashed, hung, or lost the database for the
/// whole lease (a body that panics ends at once as a lapse would), and nobody knows whether its effect happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLapse {
    /// It waits for somebody to find out: the first caller who sees the lapse makes the record
    /// *unknown* for all, and gets [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown). The safe
    /// reading: no effect happens twice.
    #[default]
    Unknown,
    /// The next caller takes over and runs the body again. Right where the effect is safe to repeat:
    /// the provider knows [`external_key`](crate::Attempt::external_key), or a second mail is better
    /// than none.
    Retry,
}

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
impl OnLapse {
    /// As stored.
    pub(crate) const fn code(self) -> i16 {
        match self {
            Self::Unknown => 1,
            Self::Retry => 2,
        }
    }
}

/// Lease mode: for how long an attempt owns its key without a sign of life, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    duration: Duration,
    on_lapse: OnLapse,
}

impl Lease {
    /// A lease of [`MIN_LEASE`] to [`MAX_LEASE`].
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Lease`] for a shorter or longer one.
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

    /// The same in a constant, where a fault is a compile error.
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

    /// For how long an attempt owns its key from its claim, and from each sign of life on.
    pub const fn duration(&self) -> Duration {
        self.duration
    }

    /// What becomes of the key when the lease lapses.
    pub const fn on_lapse(&self) -> OnLapse {
        self.on_lapse
    }

    /// As stores count: microseconds.
    pub(crate) fn micros(&self) -> i64 {
        i64::try_from(self.duration.as_micros()).unwrap_or(i64::MAX)
    }
}

/// Everything an operation asks of the library, apart from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// How long the record lives, counted by the database's clock from its writing.
    pub retention: Duration,
    /// What a duplicate gets while the first attempt runs.
    pub on_conflict: OnConflict,
    /// What becomes of a handler's `Err`.
    pub failures: Failures,
    /// How a record past its retention is read.
    pub expiry: Expiry,
    /// Whether the request is kept beside its fingerprint, for diagnosing a mismatch. Off by
    /// default: requests carry personal data.
    pub record_request: bool,
    /// The longest request that is kept, in bytes of canonical JSON. Of a longer one the record keeps the
    /// hash, and that it was too large; it is compared all the same.
    pub request_limit: usize,
    /// Whether a call without a key is refused. When false, such a call runs without idempotency.
    pub key_required: bool,
    /// Whether requests are compared at all.
    pub fingerprint: bool,
    /// Lease mode; `None` is atomic mode.
    pub lease: Option<Lease>,
}

impl Policy {
    /// The defaults of the attribute's table.
    pub const DEFAULT: Self = Self {
        retention: DEFAULT_RETENTION,
        on_conflict: OnConflict::Reject,
        failures: Failures::Retry,
        expiry: Expiry::Replay,
        record_request: false,
        request_limit: DEFAULT_REQUEST_LIMIT,
        key_required: true,
        fingerprint: true,
        lease: None,
    };

    /// As stores count: microseconds.
    pub(crate) fn retention_micros(&self) -> i64 {
        i64::try_from(self.retention.as_micros()).unwrap_or(i64::MAX)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}
