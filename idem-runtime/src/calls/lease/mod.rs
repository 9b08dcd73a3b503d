//! Lease mode, for effects that no database can roll back (mail, card payments, calls of other
//! services).
//!
//! The claim is committed before the body runs, with the end of its lease and a random attempt id.
//! The body runs in its own task with an [`Attempt`], and a second task sends heartbeats. Every
//! later write is one UPDATE that is conditional on the attempt id, so that a late owner cannot
//! overwrite the record of the next one.
//!
//! | event | record |
//! |---|---|
//! | the body succeeds | completed; every retry replays |
//! | the body fails permanently under `failures = "record"` | failed; every retry replays the failure |
//! | the body fails otherwise | released; the next caller runs the body |
//! | the body fails otherwise, after [`Attempt::outcome_unknown`] | unknown |
//! | the result or failure cannot be encoded, is over `result_limit`, or the database refuses it | unknown: the effect has happened |
//! | the database is out of reach at the end of the run, until the lease ends | unchanged: the lease lapses, and the caller gets [`Error::CommitUnknown`](crate::Error::CommitUnknown) |
//! | the body panics | at once as after a lapse: unknown, or released under `on_lapse = "retry"` |
//! | the process dies, or the runtime shuts down | unchanged: the lease lapses |
//! | the lease lapses under `on_lapse = "unknown"` | unknown, written by the next caller |
//! | the lease lapses under `on_lapse = "retry"` | taken over by the next caller, or by a [`TakeoverWorker`](crate::TakeoverWorker), who runs the body |
//!
//! **If a call is dropped**, its body continues: the caller's future only waits for it. The body
//! runs in the caller's tracing span, but in its own task and therefore without the caller's
//! task-locals: pass it the values that it needs. [`set_max_concurrent`] limits how many runs may
//! be active at once. **If the body panics**, the caller panics as well. **If the runtime shuts
//! down**, it drops its tasks, and it is not known how far their effects got: stop accepting calls,
//! then wait for [`drain()`].
//!
//! **Heartbeats** do not wait for bodies that hold the pool's connections. They use a separate
//! connection, opened with the pool's options and hooks at the first heartbeat and closed after the
//! last lease. The end of a run uses such a connection as well while the pool has none free. One
//! statement extends all leases of a process and table that are due, and skips records that are
//! locked. A SQLite database in memory has only the pool's own connections. On SQLite a heartbeat
//! also waits for the write lock: keep write transactions far shorter than the lease. If all
//! threads of a runtime are **blocked** (by a body that computes or waits without an await), no
//! heartbeat is sent: the leases lapse after their length, and [`Attempt::is_lost`] returns `true`
//! from then on. Use `spawn_blocking` for such work.
//!
//! A request larger than [`DEFAULT_REQUEST_LIMIT`](crate::values::policy::DEFAULT_REQUEST_LIMIT) is not
//! stored; the record then holds only its hash. See
//! [`Operation::request_limit`](crate::Operation::request_limit). Unknown outcomes are not purged,
//! unless [`PurgeWorker::unknown_retention`](crate::PurgeWorker::unknown_retention) is set.
//! [`Bound::count_unknown`](crate::stores::Bound::count_unknown) counts them, for an alarm.
//!
//! Unknown outcomes must be settled by hand: see
//! [`Bound::list_unknown`](crate::stores::Bound::list_unknown) and the methods beside it.

mod attempt;
mod claim;
mod drain;
mod ending;
pub(crate) mod flow;
mod heartbeat_task;
mod heartbeats;
pub(crate) mod request;
mod run;
mod source;

pub use self::attempt::Attempt;
pub use self::drain::{drain, set_max_concurrent};
pub use self::source::LeaseSource;
