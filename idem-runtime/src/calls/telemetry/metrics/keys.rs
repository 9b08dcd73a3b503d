//! The keys of an operation's metrics, made once: their labels are checked and hashed.

use std::collections::HashMap;
use std::sync::atomic::AtomicI64;
use std::sync::{OnceLock, PoisonError, RwLock};

use metrics::{Key, Label};

use super::handles::{FrequentKeys, Handles, KeptHandles};
use super::recorded::add;
use super::{
    CONFLICT, EXPIRED, FINISHED, IN_PROGRESS, LEASE_HEARTBEAT_LATE, LEASE_HELD, LEASE_LAPSED,
    LEASE_LOST, REPLAYED, STARTED, STORE_LATENCY, UNKNOWN_OUTCOME,
};
use crate::values::spec::OperationSpec;

/// The maximum number of operations that are told apart.
const TOLD_APART: usize = 1024;

/// Namespace and operation of all further operations.
const OTHER: &str = "other";

/// The values of the label `outcome`: the same words as in the event of a call.
const OUTCOMES: [&str; 15] = [
    "executed",
    "replayed",
    "in_flight",
    "mismatch",
    "failed",
    "failure_recorded",
    "failure_replayed",
    "unkeyed",
    "refused",
    "denied",
    "unknown",
    "lease_lost",
    "incompatible",
    "dropped",
    "panicked",
];

/// The keys of one operation's metrics, those with a third label by its value.
pub(in super::super) struct OperationKeys {
    pub(in super::super) started: Key,
    pub(in super::super) finished: Keys<15>,
    pub(in super::super) replayed: Keys<2>,
    pub(in super::super) conflict: Keys<3>,
    pub(in super::super) in_progress: Key,
    pub(in super::super) expired: Key,
    pub(in super::super) unknown_outcome: Keys<2>,
    pub(in super::super) latency: Keys<4>,
    pub(in super::super) lease_held: Key,
    pub(in super::super) heartbeat_late: Key,
    pub(in super::super) lease_lost: Key,
    pub(in super::super) lease_lapsed: Keys<2>,
    /// The value of `lease_held`, which is right although a recorder comes later.
    pub(in super::super) held: AtomicI64,
    kept: KeptHandles,
}

/// The keys of one metric, by the value of a label.
pub(in super::super) struct Keys<const N: usize>([(&'static str, Key); N]);

impl<const N: usize> Keys<N> {
    /// Returns the key of a value, or `None` if it is none of the label's values.
    pub(in super::super) fn of(&self, value: &str) -> Option<&Key> {
        let mut all = self.0.iter();
        all.find_map(|(known, key)| (*known == value).then_some(key))
    }
}

impl<const N: usize> Keys<N> {
    fn keys(&self) -> [&Key; N] {
        self.0.each_ref().map(|(_, key)| key)
    }

    fn all(&self) -> impl Iterator<Item = &Key> {
        self.0.iter().map(|(_, key)| key)
    }
}

impl OperationKeys {
    /// Returns the keys of this operation, the same at each call.
    pub(in super::super) fn of(operation: &OperationSpec) -> &'static Self {
        static KNOWN: RwLock<Option<HashMap<OperationName, &'static OperationKeys>>> =
            RwLock::new(None);
        static REST: OnceLock<OperationKeys> = OnceLock::new();
        let name = (operation.namespace(), operation.name());
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = known.as_ref().and_then(|known| known.get(&name)) {
            return keys;
        }
        drop(known);
        let is_leased = operation.policy().lease.is_some();
        // The recorder is asked without the lock: it may itself call an operation.
        let made: &'static OperationKeys = {
            let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
            let known = known.get_or_insert_default();
            if let Some(keys) = known.get(&name) {
                return keys;
            }
            if known.len() < TOLD_APART {
                // There are at most `TOLD_APART` of them.
                let made = &*Box::leak(Box::new(Self::new(name)));
                known.insert(name, made);
                made
            } else if let Some(rest) = REST.get() {
                return rest;
            } else {
                REST.get_or_init(|| Self::new((OTHER, OTHER)))
            }
        };
        made.begin_at_zero(is_leased);
        made
    }

    /// Calls `report` with the handles of what is counted at nearly each call. Returns `false` if it is to be counted by
    /// the keys.
    pub(in super::super) fn frequent(&self, report: impl FnOnce(&Handles)) -> bool {
        let [executed, replayed, ..] = self.finished.keys();
        let [result, _] = self.replayed.keys();
        let [claim, _, body, finish] = self.latency.keys();
        let keys = FrequentKeys {
            started: &self.started,
            executed,
            replayed: [replayed, result],
            steps: [claim, body, finish],
        };
        self.kept.with(keys, report)
    }

    fn new((namespace, operation): OperationName) -> Self {
        let labels = [
            Label::from_static_parts("namespace", namespace),
            Label::from_static_parts("operation", operation),
        ];
        let key = |metric: &'static str| Key::from_parts(metric, labels.to_vec());
        Self {
            started: key(STARTED),
            finished: by(FINISHED, &labels, "outcome", OUTCOMES),
            replayed: by(REPLAYED, &labels, "kind", ["result", "failure"]),
            conflict: by(
                CONFLICT,
                &labels,
                "kind",
                ["request", "operation", "nested"],
            ),
            in_progress: key(IN_PROGRESS),
            expired: key(EXPIRED),
            unknown_outcome: by(UNKNOWN_OUTCOME, &labels, "kind", ["lease", "commit"]),
            latency: by(
                STORE_LATENCY,
                &labels,
                "step",
                ["claim", "wait", "body", "finish"],
            ),
            lease_held: key(LEASE_HELD),
            heartbeat_late: key(LEASE_HEARTBEAT_LATE),
            lease_lost: key(LEASE_LOST),
            lease_lapsed: by(LEASE_LAPSED, &labels, "kind", ["taken_over", "unknown"]),
            held: AtomicI64::new(0),
            kept: KeptHandles::default(),
        }
    }

    /// Begins the counters of what is rare at zero. A server that finds a counter at one when it first sees it counts
    /// no increase.
    fn begin_at_zero(&self, is_leased: bool) {
        let all = [&self.started, &self.in_progress, &self.expired];
        let all = all.into_iter().chain(self.replayed.all());
        let all = all
            .chain(self.conflict.all())
            .chain(self.unknown_outcome.all());
        all.for_each(|key| add(key, 0));
        if is_leased {
            let all = [&self.heartbeat_late, &self.lease_lost];
            let all = all.into_iter().chain(self.lease_lapsed.all());
            all.for_each(|key| add(key, 0));
        }
    }
}

/// Namespace and operation.
type OperationName = (&'static str, &'static str);

/// Makes the keys of a metric for all values of a label.
fn by<const N: usize>(
    metric: &'static str,
    labels: &[Label; 2],
    label: &'static str,
    values: [&'static str; N],
) -> Keys<N> {
    Keys(values.map(|value| {
        let mut labels = labels.to_vec();
        labels.push(Label::from_static_parts(label, value));
        (value, Key::from_parts(metric, labels))
    }))
}

#[cfg(test)]
mod tests {
    use metrics::{
        Counter, Gauge, Histogram, KeyName, Metadata, Recorder, SharedString, Unit,
        with_local_recorder,
    };

    use super::*;

    #[test]
    fn an_operation_has_one_set_of_keys_and_those_beyond_the_bound_share_one() {
        let name = |n: usize| &*Box::leak(format!("measured {n:04}").into_boxed_str());
        let keys = |n| OperationKeys::of(&OperationSpec::new("bounded", name(n)));
        let first: *const _ = keys(0);
        for n in 1..=TOLD_APART + 1 {
            assert!(!std::ptr::eq(first, keys(n)));
        }
        assert!(std::ptr::eq(first, keys(0)));
        assert!(std::ptr::eq(keys(TOLD_APART + 5), keys(TOLD_APART + 6)));
        let labels: Vec<_> = keys(TOLD_APART + 5).started.labels().cloned().collect();
        assert!(labels.iter().all(|label| label.value() == OTHER));
    }

    /// A recorder that calls an operation whenever it is asked for a counter.
    struct Calls;

    impl Recorder for Calls {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            if key.labels().any(|label| label.value() == "outer") {
                OperationKeys::of(&OperationSpec::new("asked", "inner"));
            }
            Counter::noop()
        }

        fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::noop()
        }

        fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::noop()
        }
    }

    #[test]
    fn a_recorder_may_call_an_operation_itself() {
        with_local_recorder(&Calls, || {
            OperationKeys::of(&OperationSpec::new("asked", "outer"));
        });
    }
}
