//! The laws of callers and outbox: an event is appended if and only if its effect is committed, and it leaves.

use std::collections::{BTreeMap, BTreeSet};

use crate::torture::evidence::Evidence;

/// The state of an event that was published and is kept.
const PUBLISHED: i64 = 1;
/// The state of an event that was set aside.
const DEAD: i64 = 2;

pub(super) fn every_call_is_answered(evidence: &Evidence) -> Vec<String> {
    let (calls, answered) = (
        evidence.calls,
        evidence.answered + evidence.forbidden.len() as u64,
    );
    let open = || format!("{answered} of {calls} calls were answered");
    (answered < calls).then(open).into_iter().collect()
}

pub(super) fn no_answer_is_forbidden(evidence: &Evidence) -> Vec<String> {
    evidence.forbidden.clone()
}

pub(super) fn a_key_has_one_effect(evidence: &Evidence) -> Vec<String> {
    let mut effects: BTreeMap<&str, u64> = BTreeMap::new();
    for effect in &evidence.tables.effects {
        *effects.entry(&effect.fact.key).or_default() += 1;
    }
    let twice = effects.iter().filter(|(_, count)| **count > 1);
    let mut broken: Vec<_> = twice
        .map(|(key, count)| format!("{key} has {count} effects"))
        .collect();
    let (found, wanted) = (effects.len() as u64, evidence.events);
    if found != wanted {
        broken.push(format!("{found} keys have an effect, of {wanted}"));
    }
    broken
}

pub(super) fn the_numbers_of_a_partition_have_no_gaps(evidence: &Evidence) -> Vec<String> {
    let mut numbers: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for effect in &evidence.tables.effects {
        if let Some(partition) = effect.fact.ordered_in() {
            numbers
                .entry(partition)
                .or_default()
                .push(effect.fact.number);
        }
    }
    let mut broken = Vec::new();
    for (partition, last) in &evidence.tables.numbers {
        let mut found = numbers.remove(partition).unwrap_or_default();
        found.sort_unstable();
        if !found.iter().copied().eq(1..=*last) {
            let count = found.len();
            broken.push(format!(
                "partition {partition} stands at {last}, and has {count} effects"
            ));
        }
    }
    broken
}

pub(super) fn an_effect_has_one_event_row(evidence: &Evidence) -> Vec<String> {
    let mut rows: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for row in &evidence.tables.rows {
        rows.entry(&row.event).or_default().push(&row.fact);
    }
    let effects = evidence.tables.effects.iter();
    let wrong = effects.filter(|effect| {
        rows.get(&*effect.event)
            .is_none_or(|rows| rows[..] != [&effect.fact])
    });
    wrong
        .map(|effect| {
            format!(
                "{effect:?} has the event rows {:?}",
                rows.get(&*effect.event)
            )
        })
        .collect()
}

pub(super) fn an_event_row_has_its_effect(evidence: &Evidence) -> Vec<String> {
    let effects = evidence.tables.effects.iter();
    let effects: BTreeSet<_> = effects
        .map(|effect| (&effect.event, &effect.fact))
        .collect();
    let rows = evidence.tables.rows.iter();
    let invented = rows.filter(|row| !effects.contains(&(&row.event, &row.fact)));
    invented
        .map(|row| format!("{row:?} has no effect"))
        .collect()
}

pub(super) fn every_event_has_left(evidence: &Evidence) -> Vec<String> {
    let rows = evidence.tables.rows.iter();
    let left = rows.filter(|row| ![PUBLISHED, DEAD].contains(&row.state));
    left.map(|row| format!("{row:?} has not left")).collect()
}

pub(super) fn no_event_is_dead(evidence: &Evidence) -> Vec<String> {
    let rows = evidence.tables.rows.iter();
    let dead = rows.filter(|row| row.state == DEAD);
    dead.map(|row| format!("{row:?} is dead")).collect()
}
