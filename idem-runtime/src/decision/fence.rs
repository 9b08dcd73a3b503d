//! The fencing rule: which changes of a lease's record are allowed, from which status, and for
//! which attempt.
//!
//! Every write after a claim is one conditional UPDATE, and its condition is defined here: the
//! statements of the databases are built from [`Change::from`] and [`Change::wants_lapsed`], and
//! the model checker explores the same table.
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

use crate::values::record::Status;

/// A change of a lease's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    /// A heartbeat extends the lease, or the owner ends it at this moment.
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
    TakeOver,
    /// The outcome of an unknown record was found out: completed, failed, or never happened
    /// (released).
    Settle(Status),
}

impl Change {
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
}
