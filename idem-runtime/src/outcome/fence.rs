//! The fence: what a lease's record may become, from what, and by whom.
//!
//! Every write after a claim is one conditional UPDATE. Its condition is written here once: the store
//! in memory asks [`Change::permits`], the databases' statements are made from [`Change::from`] and
//! [`Change::wants_lapsed`], and the model checker explores the very same function.
//!
//! | change | from | to | by |
//! |---|---|---|---|
//! | extend | in progress | in progress | its attempt |
//! | complete, fail | in progress, unknown | completed, failed | its attempt |
//! | release | in progress | released | its attempt |
//! | doubt | in progress | unknown | its attempt |
//! | lapse | in progress, lapsed | unknown, or released under `retry` | whoever sees it |
//! | take over | in progress, lapsed | in progress, of a new attempt | the new attempt |
//! | settle | unknown | completed, failed, released | whoever found the outcome out |
//!
//! *By its attempt* is equality of the random `attempt_id`: a late owner finds another's there, and
//! so it does after the outcome was settled, or the lapsed lease released, without it.

use crate::policy::OnLapse;
use crate::record::{AttemptId, Record, Status, Timestamp};

/// A change of a lease's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// A sign of life.
    Extend,
    /// The body succeeded.
    Complete,
    /// The body failed for good.
    Fail,
    /// The body failed, and may be run again.
    Release,
    /// The body failed, and said that its effect may have happened.
    Doubt,
    /// The lease lapsed, under `on_lapse = "unknown"`.
    Lapse,
    /// The lease lapsed, under `on_lapse = "retry"`, and nobody takes it over now.
    LapseReleased,
    /// The lease lapsed, under `on_lapse = "retry"`.
    #[cfg_attr(
        not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
        allow(dead_code, reason = "the store in memory asks the record itself")
    )]
    TakeOver,
    /// An unknown outcome was found out: completed, failed, or never happened (released).
    Settle(Status),
}

impl Change {
    /// What a lapse that nobody takes over comes to under this policy.
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

    /// The statuses that it may be made from.
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

    /// The status that it makes.
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

    /// Whether the lease must have lapsed, by the database's clock.
    pub(crate) const fn wants_lapsed(self) -> bool {
        matches!(self, Self::Lapse | Self::LapseReleased | Self::TakeOver)
    }

    /// Whether it may be made of this record, where `seen` is the attempt that the writer is, or whose
    /// record it saw.
    #[cfg_attr(
        not(feature = "memory"),
        allow(
            dead_code,
            reason = "the statements of the databases are made from its parts"
        )
    )]
    pub(crate) fn permits(self, record: &Record, seen: AttemptId, now: Timestamp) -> bool {
        record.attempt_id == seen
            && self.from().contains(&record.status)
            && (!self.wants_lapsed() || record.locked_until.is_some_and(|until| until <= now))
    }
}
