//! What a call reports to the metrics, without the feature `metrics`: nothing.

#![allow(
    clippy::unused_self,
    reason = "the same functions as with the feature, of which nothing is left"
)]

use crate::values::error::Error;
use crate::values::spec::OperationSpec;

#[derive(Clone, Copy)]
pub(crate) struct NoMeter;

#[derive(Debug, Clone, Copy)]
pub(crate) enum NoTimedStep {
    Claim,
    Wait,
    Body,
    Finish,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum NoLapsed {
    TakenOver,
    Unknown,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct NoStopwatch;

pub(crate) struct NoHeldMark;

impl NoMeter {
    pub(crate) fn of(_: &OperationSpec) -> Self {
        Self
    }

    pub(crate) fn started(self, _expired: bool) {}

    pub(super) fn ended(self, _outcome: &str, _refusal: Option<&Error>) {}

    pub(crate) fn holds(self) -> NoHeldMark {
        NoHeldMark
    }

    pub(crate) fn heartbeat_late(self) {}

    pub(crate) fn lease_lost(self) {}

    pub(crate) fn lease_lapsed(self, _became: NoLapsed) {}
}

impl NoStopwatch {
    pub(crate) fn start() -> Self {
        Self
    }

    pub(crate) fn lap(&mut self, _: NoMeter, _: NoTimedStep) {}
}
