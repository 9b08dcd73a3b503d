//! Counts the calls of this process by their outcome: what writes nothing is known nowhere else.

use std::sync::atomic::{AtomicU64, Ordering};

static REPLAYED: AtomicU64 = AtomicU64::new(0);
static MISMATCHED: AtomicU64 = AtomicU64::new(0);
static IN_FLIGHT: AtomicU64 = AtomicU64::new(0);
static EXECUTED: AtomicU64 = AtomicU64::new(0);

/// How many calls of this process ended how, since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessCounts {
    /// The body ran and is committed, or its permanent failure is recorded.
    pub executed: u64,
    /// An earlier result or failure was returned.
    pub replayed: u64,
    /// The key was used before for another request or operation.
    pub mismatched: u64,
    /// Another attempt was at work.
    pub in_flight: u64,
}

/// Returns how many calls of this process ended how, since it started. Calls of other processes are not among them.
///
/// ```
/// let counts = idem_runtime::operate::process_counts();
/// println!("replays: {}, conflicts: {}", counts.replayed, counts.mismatched);
/// ```
pub fn process_counts() -> ProcessCounts {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    ProcessCounts {
        executed: read(&EXECUTED),
        replayed: read(&REPLAYED),
        mismatched: read(&MISMATCHED),
        in_flight: read(&IN_FLIGHT),
    }
}

/// Counts the end of a call.
pub(super) fn add(outcome: &str) {
    let counter = match outcome {
        "executed" | "failure_recorded" => &EXECUTED,
        "replayed" | "failure_replayed" => &REPLAYED,
        "mismatch" => &MISMATCHED,
        "in_flight" => &IN_FLIGHT,
        _ => return,
    };
    counter.fetch_add(1, Ordering::Relaxed);
}
