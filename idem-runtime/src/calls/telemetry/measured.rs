//! What a call reports to the metrics, with the feature `metrics`.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::metrics::OperationKeys;
use super::metrics::recorded::{count, sample, set};
use crate::values::error::Error;
use crate::values::spec::OperationSpec;

/// The metrics of one operation.
#[derive(Clone, Copy)]
pub(crate) struct Meter(&'static OperationKeys);

/// A step of a call, whose time is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TimedStep {
    Claim,
    /// An attempt to claim that waited for another attempt first.
    Wait,
    Body,
    Finish,
}

/// What became of a lapsed lease that a call found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lapsed {
    TakenOver,
    Unknown,
}

/// Measures one step of a call after another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

/// A lease that this process holds, counted until it is dropped.
pub(crate) struct HeldMark(Meter);

impl Meter {
    pub(crate) fn of(operation: &OperationSpec) -> Self {
        Self(OperationKeys::of(operation))
    }

    /// Reports that a body runs. `expired` says that it replaces a record past its retention.
    pub(crate) fn started(self, expired: bool) {
        if !self.0.frequent(|handles| handles.started.increment(1)) {
            count(&self.0.started);
        }
        if expired {
            count(&self.0.expired);
        }
    }

    /// Reports the end of a call.
    pub(super) fn ended(self, outcome: &str, refusal: Option<&Error>) {
        let is_counted = match outcome {
            "executed" => self.0.frequent(|handles| handles.executed.increment(1)),
            "replayed" => self.0.frequent(|handles| {
                handles
                    .replayed
                    .iter()
                    .for_each(|counter| counter.increment(1));
            }),
            _ => false,
        };
        if is_counted {
            return;
        }
        self.0.finished.of(outcome).map(count);
        match outcome {
            "replayed" => self.0.replayed.of("result").map(count),
            "failure_replayed" => self.0.replayed.of("failure").map(count),
            _ => None,
        };
        let refused = match refusal {
            Some(Error::InFlight { .. }) => Some(&self.0.in_progress),
            Some(Error::Mismatch(mismatch)) => {
                let same = mismatch.recorded_operation == mismatch.submitted_operation;
                let kind = if same { "request" } else { "operation" };
                self.0.conflict.of(kind)
            }
            Some(Error::NestedSameKey) => self.0.conflict.of("nested"),
            Some(Error::OutcomeUnknown { .. }) => self.0.unknown_outcome.of("lease"),
            Some(Error::CommitUnknown(_)) => self.0.unknown_outcome.of("commit"),
            None | Some(_) => None,
        };
        refused.map(count);
    }

    /// Reports that this process holds a lease, until the mark is dropped.
    pub(crate) fn holds(self) -> HeldMark {
        self.held(1);
        HeldMark(self)
    }

    fn held(self, change: i64) {
        let mut held = self.0.held.fetch_add(change, Ordering::SeqCst) + change;
        loop {
            // A gauge is a float. There are fewer leases than its whole numbers.
            let shown = i32::try_from(held).unwrap_or(i32::MAX);
            set(&self.0.lease_held, f64::from(shown));
            // Another thread may have set it in between, to what was right before: the last to set it looks again.
            let now = self.0.held.load(Ordering::SeqCst);
            if now == held {
                return;
            }
            held = now;
        }
    }

    /// Reports a heartbeat that came when little of the lease was left.
    pub(crate) fn heartbeat_late(self) {
        count(&self.0.heartbeat_late);
    }

    /// Reports that a lease was lost while its body ran.
    pub(crate) fn lease_lost(self) {
        count(&self.0.lease_lost);
    }

    /// Reports that a call found a lapsed lease.
    pub(crate) fn lease_lapsed(self, became: Lapsed) {
        let kind = match became {
            Lapsed::TakenOver => "taken_over",
            Lapsed::Unknown => "unknown",
        };
        self.0.lease_lapsed.of(kind).map(count);
    }
}

impl Drop for HeldMark {
    fn drop(&mut self) {
        self.0.held(-1);
    }
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Reports the time since the start, or since the step before.
    pub(crate) fn lap(&mut self, meter: Meter, step: TimedStep) {
        let now = Instant::now();
        let seconds = now.duration_since(self.0).as_secs_f64();
        self.0 = now;
        let frequent = |number: usize| {
            meter
                .0
                .frequent(|handles| handles.steps[number].record(seconds))
        };
        let (step, is_sampled) = match step {
            TimedStep::Claim => ("claim", frequent(0)),
            TimedStep::Wait => ("wait", false),
            TimedStep::Body => ("body", frequent(1)),
            TimedStep::Finish => ("finish", frequent(2)),
        };
        if !is_sampled && let Some(key) = meter.0.latency.of(step) {
            sample(key, seconds);
        }
    }
}
