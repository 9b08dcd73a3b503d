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
//! | it panics; the process dies; the runtime shuts down | nothing: the lease lapses |
//! | the lease lapses under `on_lapse = "unknown"` | unknown, by the next caller who sees it |
//! | the lease lapses under `on_lapse = "retry"` | taken over by the next caller, who runs the body |
//!
//! **Dropped**, a call goes on: the caller's future only waits for it. **A panic** of the body is the
//! caller's panic as well. A **runtime that shuts down** kills its tasks where they stand, and what
//! they were doing to the world is not known: stop taking calls, then wait for [`drain`].
//!
//! What is unknown waits for reconciliation: [`Bound::list_unknown`](crate::store::Bound) and the
//! methods beside it.

mod attempt;
mod beat;
mod claim;
mod drain;
mod ending;
mod operation;
pub(crate) mod run;
mod source;

pub use self::attempt::Attempt;
pub use self::drain::drain;
pub use self::source::LeaseSource;
