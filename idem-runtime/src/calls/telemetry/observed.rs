//! What is observed of one call: its span, and the time of its steps.

use tracing::Span;
use tracing::instrument::Instrumented;

#[cfg(feature = "metrics")]
use super::measured::{Meter, Stopwatch, TimedStep};
use super::span::{self, Statements};
#[cfg(not(feature = "metrics"))]
use super::unmeasured::{NoMeter as Meter, NoStopwatch as Stopwatch, NoTimedStep as TimedStep};
use crate::values::spec::OperationSpec;

/// What is observed of one call. Clones belong to the same call.
#[derive(Clone)]
pub(crate) struct Observed {
    span: Span,
    table: &'static str,
    meter: Meter,
    stopwatch: Stopwatch,
}

impl Observed {
    /// Opens the span of a call.
    pub(crate) fn of(operation: &OperationSpec) -> Self {
        Self {
            span: span::call(operation),
            table: operation.table_name(),
            meter: Meter::of(operation),
            stopwatch: Stopwatch::start(),
        }
    }

    pub(crate) fn meter(&self) -> Meter {
        self.meter
    }

    /// Begins an attempt to claim, and returns its span. `database` is sqlx's name of it.
    pub(crate) fn claim(&mut self, database: &str) -> Span {
        self.stopwatch = Stopwatch::start();
        span::statements(&self.span, Statements::Claim, database, self.table)
    }

    /// Ends the step of an attempt to claim. `waited` says that it began by waiting for another attempt.
    pub(crate) fn claimed(&mut self, waited: bool) {
        let step = if waited {
            TimedStep::Wait
        } else {
            TimedStep::Claim
        };
        self.stopwatch.lap(self.meter, step);
    }

    /// Runs the body in its span.
    pub(crate) fn body<F: Future>(&self, body: F) -> Instrumented<F> {
        span::body(&self.span, body)
    }

    /// Ends the step of the body, and returns the span of the end of the call.
    pub(crate) fn finish(&mut self, database: &str) -> Span {
        self.stopwatch.lap(self.meter, TimedStep::Body);
        span::statements(&self.span, Statements::Finish, database, self.table)
    }

    /// Ends the step of the end of a call.
    pub(crate) fn finished(&mut self) {
        self.stopwatch.lap(self.meter, TimedStep::Finish);
    }

    /// Calls `report` in the span of the call, whose outcome it is told first.
    pub(super) fn end(&self, outcome: &'static str, waits: u32, report: impl FnOnce()) {
        self.span.record("outcome", outcome);
        self.span.record("waits", waits);
        self.span.in_scope(report);
    }
}
