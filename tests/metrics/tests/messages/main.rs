//! What outboxes, consumers and projections count.

mod inbox;
mod outbox;
mod versions;

use idem_messaging::metrics::describe;
use idem_tests_metrics::Recorded;
use metrics::LocalRecorderGuard;

/// Makes a recorder that knows the metrics.
fn recorded() -> Recorded {
    let recorded = Recorded::new(&[1.0]);
    metrics::with_local_recorder(recorded.recorder(), describe);
    recorded
}

/// Records what this thread counts.
fn record(recorded: &Recorded) -> LocalRecorderGuard<'_> {
    metrics::set_default_local_recorder(recorded.recorder())
}
