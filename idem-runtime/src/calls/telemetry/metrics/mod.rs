//! The metrics of calls, leases and purges, over the facade of the crate `metrics`.
//!
//! The program installs a recorder, for Prometheus or OpenTelemetry, when it wants: before it does, nothing is
//! counted, and from then on everything. [`describe`] tells the recorder units and meanings.
//!
//! | metric | kind | labels | meaning |
//! |---|---|---|---|
//! | `idempotency.started` | counter | `namespace`, `operation` | claims after which a body ran |
//! | `idempotency.finished` | counter | and `outcome` | calls that ended, by the field `outcome` of [the event](super) |
//! | `idempotency.replayed` | counter | and `kind` | answers from a record: of a `result`, of a `failure` |
//! | `idempotency.conflict` | counter | and `kind` | a key used for another `request`, for another `operation`, or `nested` in its own body |
//! | `idempotency.in_progress` | counter | `namespace`, `operation` | calls refused because another attempt was running |
//! | `idempotency.expired` | counter | `namespace`, `operation` | bodies that ran because the key's record was past its retention, under strict expiry |
//! | `idempotency.unknown_outcome` | counter | and `kind` | calls whose outcome is unknown: of a `lease` that lapsed, of a `commit` whose answer was lost |
//! | `idempotency.store.latency` | histogram, seconds | and `step` | the time of a step: `claim`, `wait` (an attempt to claim that waited for another first), `body`, `finish` |
//! | `idempotency.lease.held` | gauge | `namespace`, `operation` | leases that this process holds |
//! | `idempotency.lease.heartbeat_late` | counter | `namespace`, `operation` | heartbeats that came when less than a third of the lease was left |
//! | `idempotency.lease.lost` | counter | `namespace`, `operation` | leases that this process lost while their body ran |
//! | `idempotency.lease.lapsed` | counter | and `kind` | lapsed leases that a call found: `taken_over`, or made `unknown` |
//! | `idempotency.purge.deleted` | counter | `kind` | records that the purge deleted: `expired`, `unknown` |
//! | `idempotency.purge.sweeps` | counter | `outcome` | sweeps: `completed`, `skipped` (another node has the lead), `cancelled`, `failed` |
//! | `idempotency.purge.overdue` | gauge, seconds | | by how much the oldest record has outlived its retention; of the [sampler](crate::MetricsSampler) |
//! | `idempotency.unknown_outcome.overdue` | gauge | | outcomes unknown for more than 15 minutes; of the sampler |
//! | `idempotency.takeover.sweeps` | counter | `outcome` | sweeps of the [takeover worker](crate::TakeoverWorker): `completed`, `cancelled`, `failed` |
//! | `idempotency.takeover.left` | counter | `reason` | lapsed leases that it left for a client, each once in a process, by the names of [`LeftLeases`](crate::takeover::LeftLeases)' fields |
//! | `idempotency.sampler.samples` | counter | `outcome` | samples: `taken`, `failed` |
//!
//! No label holds a key, a scope or a value of a request. `operation` is the name in the operation's constant: the
//! names that `operation = expr` gives are counted under it. At most 1,024 operations are told apart; further ones
//! are counted as operation `other` of namespace `other`.

mod handles;
mod keys;
pub(super) mod recorded;

pub(super) use self::keys::OperationKeys;
pub(crate) use self::recorded::{gauge, increment};

use metrics::{Level, Metadata, Unit, with_recorder};

/// Upper bounds for a histogram of `idempotency.store.latency`, in seconds: half a millisecond to ten seconds.
pub const LATENCY_BUCKETS: [f64; 14] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// Who asks the recorder.
static METADATA: Metadata<'static> =
    Metadata::new(super::TARGET, Level::INFO, Some(module_path!()));

/// What a metric is.
#[derive(Clone, Copy)]
enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

pub(crate) const STARTED: &str = "idempotency.started";
pub(crate) const FINISHED: &str = "idempotency.finished";
pub(crate) const REPLAYED: &str = "idempotency.replayed";
pub(crate) const CONFLICT: &str = "idempotency.conflict";
pub(crate) const IN_PROGRESS: &str = "idempotency.in_progress";
pub(crate) const EXPIRED: &str = "idempotency.expired";
pub(crate) const UNKNOWN_OUTCOME: &str = "idempotency.unknown_outcome";
pub(crate) const STORE_LATENCY: &str = "idempotency.store.latency";
pub(crate) const LEASE_HELD: &str = "idempotency.lease.held";
pub(crate) const LEASE_HEARTBEAT_LATE: &str = "idempotency.lease.heartbeat_late";
pub(crate) const LEASE_LOST: &str = "idempotency.lease.lost";
pub(crate) const LEASE_LAPSED: &str = "idempotency.lease.lapsed";
pub(crate) const PURGE_DELETED: &str = "idempotency.purge.deleted";
pub(crate) const PURGE_SWEEPS: &str = "idempotency.purge.sweeps";
pub(crate) const PURGE_OVERDUE: &str = "idempotency.purge.overdue";
pub(crate) const UNKNOWN_OVERDUE: &str = "idempotency.unknown_outcome.overdue";
pub(crate) const TAKEOVER_SWEEPS: &str = "idempotency.takeover.sweeps";
pub(crate) const TAKEOVER_LEFT: &str = "idempotency.takeover.left";
pub(crate) const SAMPLER_SAMPLES: &str = "idempotency.sampler.samples";

/// Every metric, with its unit and its meaning.
const ALL: [(&str, MetricKind, Unit, &str); 19] = {
    use MetricKind::{Counter, Gauge, Histogram};
    use Unit::{Count, Seconds};
    [
        (STARTED, Counter, Count, "Claims after which a body ran."),
        (FINISHED, Counter, Count, "Calls that ended, by outcome."),
        (REPLAYED, Counter, Count, "Answers from a record."),
        (
            CONFLICT,
            Counter,
            Count,
            "Calls with a key that was used for something else.",
        ),
        (
            IN_PROGRESS,
            Counter,
            Count,
            "Calls refused because another attempt was running.",
        ),
        (
            EXPIRED,
            Counter,
            Count,
            "Bodies that ran because the record was past its retention.",
        ),
        (
            UNKNOWN_OUTCOME,
            Counter,
            Count,
            "Calls whose outcome is unknown.",
        ),
        (
            STORE_LATENCY,
            Histogram,
            Seconds,
            "The time of a step of a call.",
        ),
        (LEASE_HELD, Gauge, Count, "Leases that this process holds."),
        (
            LEASE_HEARTBEAT_LATE,
            Counter,
            Count,
            "Heartbeats that came when less than a third of the lease was left.",
        ),
        (
            LEASE_LOST,
            Counter,
            Count,
            "Leases that this process lost while their body ran.",
        ),
        (
            LEASE_LAPSED,
            Counter,
            Count,
            "Lapsed leases that a call found.",
        ),
        (
            PURGE_DELETED,
            Counter,
            Count,
            "Records that the purge deleted.",
        ),
        (PURGE_SWEEPS, Counter, Count, "Sweeps of the purge."),
        (
            PURGE_OVERDUE,
            Gauge,
            Seconds,
            "By how much the oldest record has outlived its retention.",
        ),
        (
            UNKNOWN_OVERDUE,
            Gauge,
            Count,
            "Outcomes unknown for more than 15 minutes.",
        ),
        (
            TAKEOVER_SWEEPS,
            Counter,
            Count,
            "Sweeps of the takeover worker.",
        ),
        (
            TAKEOVER_LEFT,
            Counter,
            Count,
            "Lapsed leases that the takeover worker left for a client.",
        ),
        (SAMPLER_SAMPLES, Counter, Count, "Samples of the table."),
    ]
};

/// Tells the recorder that is installed the unit and the meaning of each metric. Call it once, after the recorder is
/// installed: exporters that name metrics after their units need it.
///
/// ```
/// idem_runtime::metrics::describe();
/// ```
pub fn describe() {
    with_recorder(|recorder| {
        for (name, kind, unit, meaning) in ALL {
            let (name, unit, meaning) = (name.into(), Some(unit), meaning.into());
            match kind {
                MetricKind::Counter => recorder.describe_counter(name, unit, meaning),
                MetricKind::Gauge => recorder.describe_gauge(name, unit, meaning),
                MetricKind::Histogram => recorder.describe_histogram(name, unit, meaning),
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::ALL;

    /// The names in the first column of a page's tables.
    fn named(page: &str) -> BTreeSet<&str> {
        let cells = page.lines().filter_map(|line| {
            let line = line.trim_start_matches("//! ");
            line.strip_prefix("| `idempotency.")?.split_once('`')
        });
        cells.map(|(name, _)| name).collect()
    }

    #[test]
    fn every_metric_is_in_the_documentation_and_no_other() {
        let all: BTreeSet<_> = ALL
            .iter()
            .filter_map(|(name, ..)| name.strip_prefix("idempotency."))
            .collect();
        assert_eq!(all.len(), ALL.len());
        assert_eq!(named(include_str!("mod.rs")), all);
    }
}
