//! One event a call.

use std::time::Duration;

use crate::error::Error;
use crate::identity::Identity;
use crate::record::Record;
use crate::spec::Operation;

/// The target of the library's events.
pub const TARGET: &str = "idem";

/// What one call came to.
pub(crate) struct Call<'a> {
    pub(crate) operation: &'a Operation,
    pub(crate) identity: Option<&'a Identity>,
    pub(crate) outcome: &'static str,
    pub(crate) record: Option<&'a Record>,
    pub(crate) refusal: Option<&'a Error>,
    pub(crate) waits: u32,
    pub(crate) elapsed: Duration,
}

impl Call<'_> {
    /// Emits the event: a short hash stands for the key, and replays are told from first runs.
    pub(crate) fn emit(&self) {
        let key = self.identity.map(|identity| identity.key().short_hash());
        tracing::info!(
            target: TARGET,
            namespace = self.operation.namespace(),
            operation = self.operation.name(),
            key = key.as_deref(),
            outcome = self.outcome,
            replayed = self.record.is_some(),
            recorded_at_us = self.record.map(|record| record.created_at.as_micros()),
            attempt = self.record.map(|record| record.attempt),
            refusal = self.refusal.map(tracing::field::display),
            waits = self.waits,
            elapsed_us = u64::try_from(self.elapsed.as_micros()).unwrap_or(u64::MAX),
            "idempotent call"
        );
    }
}
