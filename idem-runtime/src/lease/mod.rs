//! Lease mode: effects that no database can roll back (mail, cards, other services).
//!
//! The claim commits by itself before the body runs, with the end of its lease and a random attempt
//! id. The body runs in a task of its own with an [`Attempt`]; a second task gives signs of life.
//! Every later write is one UPDATE that is conditional on the attempt id, so that an owner who was
//! too slow writes nothing over the next one's record.
//!
//! | what happens | what is recorded |
//! |---|---|
//! | the body succeeds | completed; every retry replays |
//! | it fails for good, under `failures = "record"` | failed; every retry replays the failure |
//! | it fails otherwise | released; the next caller runs the body |
//! | it fails otherwise, after [`Attempt::outcome_unknown`] | unknown |
//! | its result or failure cannot be encoded, or the database refuses it | unknown: the effect has happened |
//! | the database is out of reach at its end, for as long as the lease lasts | nothing: the lease lapses, and the caller gets [`Error::CommitUnknown`](crate::Error::CommitUnknown) |
//! | it panics | at once what a lapse would be: unknown, or under `on_lapse = "retry"` released |
//! | the process dies; the runtime shuts down | nothing: the lease lapses |
//! | the lease lapses under `on_lapse = "unknown"` | unknown, by the next caller who sees it |
//! | the lease lapses under `on_lapse = "retry"` | taken over by the next caller, who runs the body |
//!
//! **Dropped**, a call goes on: the caller's future only waits for it. It goes on in the caller's span, and
//! without its task-locals: a task of its own has none, so pass to the body what it needs of them. How many
//! runs there may be at once, [`set_max_concurrent`] says. **A panic** of the body is the
//! caller's panic as well. A **runtime that shuts down** kills its tasks where they stand, and what
//! they were doing to the world is not known: stop taking calls, then wait for [`drain`].
//!
//! **Heartbeats** do not wait behind the bodies that hold the pool's connections. They have a connection of
//! their own, opened by the pool's options and hooks at the first heartbeat and closed after the last
//! lease; so has the end of a run, while the pool has none free. One statement extends all leases of a
//! process and table that are due, and passes over a record that somebody has locked. A database in memory
//! (SQLite) has the pool's own connections and no other; and on SQLite a heartbeat still waits for the one
//! writer, as every write does: keep write transactions far shorter than the lease. A runtime whose
//! threads are all **blocked** (a body that computes or waits without an await) sends no heartbeat: its
//! leases lapse after their length, and [`Attempt::is_lost`] says so as soon as the body asks. Use
//! `spawn_blocking` for such work.
//!
//! A request over [`DEFAULT_REQUEST_LIMIT`](crate::policy::DEFAULT_REQUEST_LIMIT) is not kept in the
//! record, which then has its hash alone; see [`Operation::request_limit`](crate::Operation::request_limit).
//! Unknown outcomes never leave by time, unless [`PurgeWorker::unknown_retention`](crate::PurgeWorker::unknown_retention)
//! says when; [`Bound::count_unknown`](crate::store::Bound::count_unknown) is for an alarm.
//!
//! What is unknown waits for reconciliation: [`Bound::list_unknown`](crate::store::Bound) and the
//! methods beside it.

mod attempt;
mod beat;
mod claim;
mod drain;
mod ending;
mod heartbeats;
mod operation;
pub(crate) mod run;
mod source;

pub use self::attempt::Attempt;
pub use self::drain::{drain, set_max_concurrent};
pub use self::source::LeaseSource;
