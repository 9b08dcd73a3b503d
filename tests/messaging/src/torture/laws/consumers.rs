//! The laws of the consumers: each has the effect of each event once, and the projection in the order of its partition.

use std::collections::{BTreeMap, BTreeSet};

use crate::torture::evidence::Evidence;
use crate::torture::fact::Fact;

/// The consumers with their effects.
fn consumers(evidence: &Evidence) -> [(&'static str, &[Fact]); 2] {
    let tables = &evidence.tables;
    [
        ("the ledger", &tables.booked),
        ("the projection", &tables.shown),
    ]
}

pub(super) fn a_consumer_has_the_effect_of_each_event(evidence: &Evidence) -> Vec<String> {
    let mut broken = Vec::new();
    for (consumer, effects) in consumers(evidence) {
        let effects: BTreeSet<_> = effects.iter().collect();
        let rows = evidence.tables.rows.iter();
        let missing = rows.filter(|row| !effects.contains(&row.fact));
        broken.extend(missing.map(|row| format!("{consumer} has no effect of {row:?}")));
    }
    broken
}

pub(super) fn a_consumer_has_the_effect_of_an_event_once(evidence: &Evidence) -> Vec<String> {
    let mut broken = Vec::new();
    for (consumer, effects) in consumers(evidence) {
        let mut known = BTreeSet::new();
        let again = effects.iter().filter(|fact| !known.insert(&fact.key));
        broken.extend(again.map(|fact| format!("{consumer} has the effect of {fact:?} again")));
    }
    broken
}

pub(super) fn a_consumer_has_no_effect_without_its_event(evidence: &Evidence) -> Vec<String> {
    let facts: BTreeSet<_> = evidence.tables.rows.iter().map(|row| &row.fact).collect();
    let mut broken = Vec::new();
    for (consumer, effects) in consumers(evidence) {
        let invented = effects.iter().filter(|fact| !facts.contains(fact));
        broken
            .extend(invented.map(|fact| format!("{consumer} has an effect of no event: {fact:?}")));
    }
    broken
}

pub(super) fn the_projection_follows_the_order_of_its_partition(
    evidence: &Evidence,
) -> Vec<String> {
    let mut last: BTreeMap<i64, i64> = BTreeMap::new();
    let mut broken = Vec::new();
    for fact in &evidence.tables.shown {
        let Some(partition) = fact.ordered_in() else {
            continue;
        };
        let before = last.insert(partition, fact.number).unwrap_or_default();
        if before + 1 != fact.number {
            broken.push(format!("{fact:?} was shown after number {before}"));
        }
    }
    broken
}
