//! The laws of the effects outside the database.

use std::collections::{BTreeMap, BTreeSet};

use super::Evidence;
use crate::torture::notices::{Lapse, Notice};

pub(super) fn no_leased_call_is_forbidden(evidence: &Evidence<'_>) -> Vec<String> {
    let reported = evidence.notices.iter().filter_map(|notice| match notice {
        Notice::Forbidden { key, words } => Some(format!("{key} was told {words}")),
        Notice::Sent { .. } | Notice::Lapsed { .. } => None,
    });
    reported.collect()
}

pub(super) fn the_lease_of_an_owner_that_lives_does_not_lapse(
    evidence: &Evidence<'_>,
) -> Vec<String> {
    let lapsed = evidence.notices.iter().filter_map(|notice| match notice {
        Notice::Lapsed { key } => Some(format!("{key} was lost")),
        Notice::Sent { .. } | Notice::Forbidden { .. } => None,
    });
    lapsed.collect()
}

pub(super) fn under_unknown_an_effect_outside_happens_once_at_most(
    evidence: &Evidence<'_>,
) -> Vec<String> {
    let mut sent: BTreeMap<&str, u64> = BTreeMap::new();
    for notice in evidence.notices {
        if let Notice::Sent {
            key,
            lapse: Lapse::Unknown,
            ..
        } = notice
        {
            *sent.entry(key).or_default() += 1;
        }
    }
    let often = sent.into_iter().filter(|(_, count)| *count > 1);
    often
        .map(|(key, count)| format!("{key} was sent {count} times"))
        .collect()
}

pub(super) fn the_effects_outside_of_a_key_have_one_external_key(
    evidence: &Evidence<'_>,
) -> Vec<String> {
    let mut externals: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut keys: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for notice in evidence.notices {
        if let Notice::Sent { key, external, .. } = notice {
            externals.entry(key).or_default().insert(external);
            keys.entry(external).or_default().insert(key);
        }
    }
    let shared = externals.into_iter().chain(keys);
    shared
        .filter(|(_, others)| others.len() > 1)
        .map(|(one, others)| format!("{one} stands with {others:?}"))
        .collect()
}
