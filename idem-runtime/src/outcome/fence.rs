//! The fencing rule: which changes of a lease's record are allowed, from which status, and for
//! which attempt.
//!
//! Every write after a claim is one conditional UPDATE, and its condition is defined here. The
//! store in memory calls [`Change::permits`]; the statements of the databases are built from
//! [`Change::from`] and [`Change::wants_lapsed`]; the model checker explores the same function.
//!
//! | change | from | to | by |
//! |---|---|---|---|
//! | extend | in progress | in progress | its attempt |
//! | complete, fail | in progress, unknown | completed, failed | its attempt |
//! | release | in progress | released | its attempt |
//! | doubt | in progress | unknown | its attempt |
//! | lapse | in progress, lapsed | unknown, or released under `retry` | any caller or operator |
//! | take over | in progress, lapsed | in progress, of a new attempt | the new attempt |
//! | settle | unknown | completed, failed, released | an operator |
//!
//! *Its attempt* means that the random `attempt_id` is equal. A late owner finds a different id if
//! another attempt took over, if the outcome was settled, or if its lapsed lease was released.

use crate::policy::OnLapse;
use crate::record::{AttemptId, Record, Status, Timestamp};

/// A change of a lease's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// A heartbeat extends the lease.
    Extend,
    /// The body succeeded.
    Complete,
    /// The body failed permanently.
    Fail,
    /// The body failed and may run again.
    Release,
    /// The body failed and reported that its effect may have happened.
    Doubt,
    /// The lease lapsed, under `on_lapse = "unknown"`.
    Lapse,
    /// The lease lapsed under `on_lapse = "retry"`, and no attempt takes it over now.
    LapseReleased,
    /// An attempt takes over a lease that lapsed under `on_lapse = "retry"`.
    #[cfg_attr(
        not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
        allow(dead_code, reason = "the store in memory asks the record itself")
    )]
    TakeOver,
    /// The outcome of an unknown record was found out: completed, failed, or never happened
    /// (released).
    Settle(Status),
}

impl Change {
    /// Returns the change that a lapsed lease gets under this policy if no attempt takes it over.
    #[cfg_attr(
        not(feature = "memory"),
        allow(
            dead_code,
            reason = "the statements of the databases read the policy of each record"
        )
    )]
    pub(crate) const fn lapse(on_lapse: OnLapse) -> Self {
        match on_lapse {
            OnLapse::Unknown => Self::Lapse,
            OnLapse::Retry => Self::LapseReleased,
        }
    }

    /// Returns the statuses from which the change is allowed.
    pub(crate) const fn from(self) -> &'static [Status] {
        match self {
            Self::Extend
            | Self::Release
            | Self::Doubt
            | Self::Lapse
            | Self::LapseReleased
            | Self::TakeOver => &[Status::InProgress],
            Self::Complete | Self::Fail => &[Status::InProgress, Status::Unknown],
            Self::Settle(_) => &[Status::Unknown],
        }
    }

    /// Returns the status after the change.
    pub(crate) const fn to(self) -> Status {
        match self {
            Self::Extend | Self::TakeOver => Status::InProgress,
            Self::Complete => Status::Completed,
            Self::Fail => Status::Failed,
            Self::Release | Self::LapseReleased => Status::Released,
            Self::Doubt | Self::Lapse => Status::Unknown,
            Self::Settle(status) => status,
        }
    }

    /// Returns whether the change requires that the lease has lapsed, by the database's clock.
    pub(crate) const fn wants_lapsed(self) -> bool {
        matches!(self, Self::Lapse | Self::LapseReleased | Self::TakeOver)
    }

    /// Returns whether the change is allowed on this record. `expected` is the writer's own attempt, or
    /// the attempt of the record that the writer read.
    #[cfg_attr(
        not(feature = "memory"),
        allow(
            dead_code,
            reason = "the statements of the databases are made from its parts"
        )
    )]
    pub(crate) fn permits(self, record: &Record, expected: AttemptId, now: Timestamp) -> bool {
        record.attempt_id == expected
            && self.from().contains(&record.status)
            && (!self.wants_lapsed() || record.locked_until.is_some_and(|until| until <= now))
    }
}
