//! The metrics of outboxes, consumers and projections, over the facade of the crate `metrics`.
//!
//! | metric | kind | labels | meaning |
//! |---|---|---|---|
//! | `outbox.attempts` | counter | `outcome` | what became of a claimed event: `published`, `retried`, `dead`, `released` (given back untried), `fenced` (another relay had taken it over) |
//! | `outbox.pending` | gauge | | events that have not left, without those that wait behind another of their partition; of the [sampler](crate::outbox::OutboxSampler) |
//! | `outbox.oldest_age` | gauge, seconds | | how long ago the oldest event that is due was appended; of the sampler |
//! | `outbox.dead` | gauge | | events that were set aside as dead; of the sampler |
//! | `outbox.sampler.samples` | counter | `outcome` | samples: `taken`, `failed` |
//! | `message.handled` | counter | `namespace`, `outcome` | deliveries, by [verdict](crate::inbox::Verdict::as_str) |
//! | `message.duplicate` | counter | `namespace` | deliveries whose effect an earlier one had, so that no handler ran |
//! | `message.dead_lettered` | counter | `namespace`, `kind` | messages that were set aside, by [reason](crate::inbox::DeadLetterReason) |
//! | `projection.stale` | counter | `projection` | events that a projection had already, or that were overtaken |
//!
//! No label holds an id, a topic or a part of a message. At most 256 projections are told apart; further ones are
//! counted as `other`.

mod recorded;

pub(crate) use self::recorded::{dead_lettered, gauge, handled, increment, stale};

use metrics::{Level, Metadata, Unit, with_recorder};

/// Who asks the recorder.
static METADATA: Metadata<'static> = Metadata::new("idem", Level::INFO, Some(module_path!()));

pub(crate) const OUTBOX_ATTEMPTS: &str = "outbox.attempts";
pub(crate) const OUTBOX_PENDING: &str = "outbox.pending";
pub(crate) const OUTBOX_OLDEST_AGE: &str = "outbox.oldest_age";
pub(crate) const OUTBOX_DEAD: &str = "outbox.dead";
pub(crate) const OUTBOX_SAMPLES: &str = "outbox.sampler.samples";
const MESSAGE_HANDLED: &str = "message.handled";
const MESSAGE_DUPLICATE: &str = "message.duplicate";
const MESSAGE_DEAD_LETTERED: &str = "message.dead_lettered";
const PROJECTION_STALE: &str = "projection.stale";

/// The counters, with their meanings.
const COUNTERS: [(&str, &str); 6] = [
    (OUTBOX_ATTEMPTS, "What became of a claimed event."),
    (OUTBOX_SAMPLES, "Samples of the outbox."),
    (MESSAGE_HANDLED, "Deliveries, by verdict."),
    (
        MESSAGE_DUPLICATE,
        "Deliveries whose effect an earlier one had.",
    ),
    (
        MESSAGE_DEAD_LETTERED,
        "Messages that were set aside, by reason.",
    ),
    (
        PROJECTION_STALE,
        "Events that a projection had already, or that were overtaken.",
    ),
];

/// The gauges, with their units and meanings.
const GAUGES: [(&str, Unit, &str); 3] = [
    (OUTBOX_PENDING, Unit::Count, "Events that have not left."),
    (
        OUTBOX_OLDEST_AGE,
        Unit::Seconds,
        "How long ago the oldest event that is due was appended.",
    ),
    (
        OUTBOX_DEAD,
        Unit::Count,
        "Events that were set aside as dead.",
    ),
];

/// Tells the recorder that is installed the unit and the meaning of each metric. Call it once, after the recorder is
/// installed, beside [`idem_runtime::metrics::describe`].
///
/// ```
/// idem_runtime::metrics::describe();
/// idem_messaging::metrics::describe();
/// ```
pub fn describe() {
    with_recorder(|recorder| {
        for (name, meaning) in COUNTERS {
            recorder.describe_counter(name.into(), Some(Unit::Count), meaning.into());
        }
        for (name, unit, meaning) in GAUGES {
            recorder.describe_gauge(name.into(), Some(unit), meaning.into());
        }
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{COUNTERS, GAUGES};

    #[test]
    fn every_metric_is_in_the_documentation_and_no_other() {
        let cells = include_str!("mod.rs").lines().filter_map(|line| {
            let cell = line.strip_prefix("//! | `")?;
            cell.split_once('`').map(|(name, _)| name)
        });
        let counters = COUNTERS.iter().map(|(name, _)| *name);
        let gauges = GAUGES.iter().map(|(name, ..)| *name);
        let all: BTreeSet<_> = counters.chain(gauges).collect();
        assert_eq!(cells.collect::<BTreeSet<_>>(), all);
    }
}
