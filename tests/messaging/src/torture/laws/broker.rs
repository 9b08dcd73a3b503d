//! The laws of the relay: an event that was appended is published, and first after those before it in its partition.

use std::collections::{BTreeMap, BTreeSet};

use crate::torture::evidence::Evidence;

pub(super) fn an_event_is_published(evidence: &Evidence) -> Vec<String> {
    let published: BTreeSet<_> = evidence.publications.iter().map(|one| &one.event).collect();
    let rows = evidence.tables.rows.iter();
    let lost = rows.filter(|row| !published.contains(&row.event));
    lost.map(|row| format!("{row:?} is not in the stream"))
        .collect()
}

pub(super) fn what_is_published_was_appended(evidence: &Evidence) -> Vec<String> {
    let rows = evidence.tables.rows.iter();
    let rows: BTreeSet<_> = rows
        .map(|row| (&row.event, &row.fact, row.fact.topic()))
        .collect();
    let publications = evidence.publications.iter();
    let invented =
        publications.filter(|one| !rows.contains(&(&one.event, &one.fact, one.topic.clone())));
    invented
        .map(|one| format!("{one:?} was never appended"))
        .collect()
}

pub(super) fn a_partition_is_published_in_order(evidence: &Evidence) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut last: BTreeMap<i64, i64> = BTreeMap::new();
    let mut broken = Vec::new();
    for publication in &evidence.publications {
        let fact = &publication.fact;
        // A repetition may come at any time.
        if !known.insert(&publication.event) {
            continue;
        }
        let Some(partition) = fact.ordered_in() else {
            continue;
        };
        if let Some(before) = last.insert(partition, fact.number)
            && before > fact.number
        {
            broken.push(format!("{publication:?} came first after number {before}"));
        }
    }
    broken
}

pub(super) fn nothing_waits_at_the_broker(evidence: &Evidence) -> Vec<String> {
    let waiting = evidence.waiting;
    let line = || format!("{waiting} deliveries were not acknowledged");
    (waiting > 0).then(line).into_iter().collect()
}

pub(super) fn no_message_is_dead(evidence: &Evidence) -> Vec<String> {
    let letters = evidence.letters.iter();
    letters
        .map(|letter| format!("{letter:?} was set aside"))
        .collect()
}
