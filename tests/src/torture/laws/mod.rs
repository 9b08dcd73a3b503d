//! The laws that must hold after a run, whatever happened to clients and server; each is a
//! function.

mod left;
mod notices;
#[cfg(test)]
mod tests;
mod violation;

use std::collections::{BTreeMap, BTreeSet};

pub use self::violation::Violation;
use super::calls::{ACCOUNTS, Asked, Done, OPENING, What};
use super::engine::{Effect, Record, Tables};
use super::history::{Answer, Entry, History};
use super::notices::Notice;

/// The record's status of a result.
const COMPLETED: i64 = 1;
/// The record's status of a failure.
const FAILED: i64 = 2;
/// The operation of the leased handlers.
const NOTICE: &str = "notice";

/// What the callers saw and the final state, by key.
struct Evidence<'e> {
    calls: &'e [Entry],
    notices: &'e [Notice],
    tables: &'e Tables,
    by_key: BTreeMap<&'e str, Key<'e>>,
}

#[derive(Default)]
struct Key<'e> {
    asked: BTreeSet<Asked>,
    /// The request, the value and whether it was a replay.
    successes: Vec<(Asked, Done, bool)>,
    /// The request, and the amount in the answer.
    declined: Vec<(Asked, i64)>,
    mismatched: BTreeSet<Asked>,
    effects: Vec<&'e Effect>,
    records: Vec<&'e Record>,
}

type Law = fn(&Evidence<'_>) -> Vec<String>;

/// Every law.
const LAWS: [(&str, Law); 22] = [
    ("every_call_is_answered", every_call_is_answered),
    ("no_answer_is_forbidden", no_answer_is_forbidden),
    ("a_key_has_one_effect_at_most", a_key_has_one_effect_at_most),
    ("a_success_has_one_effect", a_success_has_one_effect),
    (
        "the_successes_of_a_key_carry_one_value",
        the_successes_of_a_key_carry_one_value,
    ),
    (
        "an_answer_is_to_the_request_that_was_sent",
        an_answer_is_to_the_request_that_was_sent,
    ),
    (
        "a_key_is_answered_afresh_once_at_most",
        a_key_is_answered_afresh_once_at_most,
    ),
    (
        "a_failure_for_good_is_recorded_and_undone",
        a_failure_for_good_is_recorded_and_undone,
    ),
    (
        "a_refused_request_is_not_the_recorded_one",
        a_refused_request_is_not_the_recorded_one,
    ),
    ("a_key_has_one_record_at_most", a_key_has_one_record_at_most),
    ("an_effect_has_its_record", an_effect_has_its_record),
    ("a_record_has_its_effect", a_record_has_its_effect),
    ("an_effect_was_asked_for", an_effect_was_asked_for),
    ("money_is_conserved", money_is_conserved),
    (
        "an_account_holds_what_its_effects_say",
        an_account_holds_what_its_effects_say,
    ),
    (
        "order_numbers_are_unique_and_without_gaps",
        order_numbers_are_unique_and_without_gaps,
    ),
    (
        "nothing_is_stuck_in_flight",
        left::nothing_is_stuck_in_flight,
    ),
    (
        "nothing_that_commit_refused_remains",
        left::nothing_that_commit_refused_remains,
    ),
    (
        "no_leased_call_is_forbidden",
        notices::no_leased_call_is_forbidden,
    ),
    (
        "under_unknown_an_effect_outside_happens_once_at_most",
        notices::under_unknown_an_effect_outside_happens_once_at_most,
    ),
    (
        "the_effects_outside_of_a_key_have_one_external_key",
        notices::the_effects_outside_of_a_key_have_one_external_key,
    ),
    (
        "the_lease_of_an_owner_that_lives_does_not_lapse",
        notices::the_lease_of_an_owner_that_lives_does_not_lapse,
    ),
];

/// Returns every breach of every law; empty if all hold.
pub fn violations(history: &History, tables: &Tables) -> Vec<Violation> {
    let evidence = Evidence::of(history, tables);
    LAWS.into_iter()
        .flat_map(|(law, holds)| {
            let broken = holds(&evidence).into_iter();
            broken.map(move |detail| Violation { law, detail })
        })
        .collect()
}

impl<'e> Evidence<'e> {
    fn of(history: &'e History, tables: &'e Tables) -> Self {
        let calls = &history.calls;
        let mut by_key: BTreeMap<&str, Key<'_>> = BTreeMap::new();
        for call in calls {
            let key = by_key.entry(&call.key).or_default();
            key.asked.insert(call.asked);
            match call.answer {
                Some(Answer::Done { done, replayed }) => {
                    key.successes.push((call.asked, done, replayed));
                }
                Some(Answer::Declined { amount }) => key.declined.push((call.asked, amount)),
                Some(Answer::Mismatch) => {
                    key.mismatched.insert(call.asked);
                }
                Some(Answer::Forbidden(_)) | None => {}
            }
        }
        for effect in &tables.effects {
            by_key.entry(&effect.key).or_default().effects.push(effect);
        }
        // A leased call may end with its process. Its record then says so, and is not evidence
        // here.
        for record in tables
            .records
            .iter()
            .filter(|record| record.operation != NOTICE)
        {
            by_key.entry(&record.key).or_default().records.push(record);
        }
        Self {
            calls,
            notices: &history.notices,
            tables,
            by_key,
        }
    }

    /// Returns one line for each key for which `wrong` returns a text.
    fn keys(&self, wrong: impl Fn(&Key<'e>) -> Option<String>) -> Vec<String> {
        let broken = self.by_key.iter();
        broken
            .filter_map(|(name, key)| Some(format!("{name} {}", wrong(key)?)))
            .collect()
    }
}

impl Key<'_> {
    /// Returns the recorded result, if there is exactly one.
    fn recorded(&self) -> Option<Done> {
        match self.records[..] {
            [record] if record.status == COMPLETED => {
                serde_json::from_value(record.value.clone()).ok()
            }
            _ => None,
        }
    }
}

fn every_call_is_answered(evidence: &Evidence<'_>) -> Vec<String> {
    let open = evidence.calls.iter().filter(|call| call.answer.is_none());
    open.map(|call| {
        format!(
            "call {} of a caller, {}, was never answered",
            call.index, call.key
        )
    })
    .collect()
}

fn no_answer_is_forbidden(evidence: &Evidence<'_>) -> Vec<String> {
    let reported = evidence.calls.iter().filter_map(|call| match &call.answer {
        Some(Answer::Forbidden(words)) => Some(format!("{} was told {words}", call.key)),
        _ => None,
    });
    reported.collect()
}

fn a_key_has_one_effect_at_most(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        let count = key.effects.len();
        (count > 1).then(|| format!("has {count} effects: {:?}", key.effects))
    })
}

fn a_success_has_one_effect(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        let alone = key.effects.len() == 1;
        let (_, done, _) = key
            .successes
            .iter()
            .find(|(_, done, _)| !alone || key.effects.iter().all(|effect| effect.done != *done))?;
        Some(format!(
            "was answered {done:?}, and its effects are {:?}",
            key.effects
        ))
    })
}

fn the_successes_of_a_key_carry_one_value(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        let (_, first, _) = key.successes.first()?;
        let recorded = key.recorded().unwrap_or(*first);
        let other = key
            .successes
            .iter()
            .find(|(_, done, _)| *done != recorded)?;
        Some(format!("was answered {:?}, and {recorded:?}", other.1))
    })
}

fn an_answer_is_to_the_request_that_was_sent(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        let of_another = key.successes.iter().find(|(sent, done, _)| {
            let effect = key.effects.iter().find(|effect| effect.done == *done);
            effect.is_some_and(|effect| effect.asked != *sent)
        });
        if let Some((sent, done, _)) = of_another {
            return Some(format!(
                "answers {sent:?} with {done:?}, which is another's"
            ));
        }
        let (sent, amount) = key.declined.iter().find(|(sent, amount)| {
            let operation = sent.what.operation();
            sent.amount != *amount
                || key
                    .records
                    .iter()
                    .any(|record| record.operation != operation)
        })?;
        Some(format!("declines {sent:?} with the amount {amount}"))
    })
}

fn a_key_is_answered_afresh_once_at_most(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        let fresh = key.successes.iter().filter(|(.., replayed)| !replayed);
        let count = fresh.count();
        (count > 1).then(|| format!("was answered afresh {count} times"))
    })
}

fn a_failure_for_good_is_recorded_and_undone(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        let reported = !key.declined.is_empty();
        let recorded = matches!(key.records[..], [record] if record.status == FAILED);
        if reported && !recorded {
            return Some(format!("was declined, and on record is {:?}", key.records));
        }
        let done = !key.effects.is_empty() || !key.successes.is_empty();
        ((reported || recorded) && done).then(|| "was declined, and has an effect".to_owned())
    })
}

fn a_refused_request_is_not_the_recorded_one(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        if key.mismatched.is_empty() {
            return None;
        }
        let recorded = match (&key.effects[..], &key.records[..]) {
            ([effect], _) => key.mismatched.contains(&effect.asked),
            ([], [failed]) => key.mismatched.iter().any(|sent| {
                failed.operation == sent.what.operation()
                    && failed.value["data"]["amount"] == sent.amount
            }),
            _ => false,
        };
        let nothing = key.records.is_empty();
        (recorded || nothing).then(|| "refuses a request that is no other than its own".to_owned())
    })
}

fn a_key_has_one_record_at_most(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        let count = key.records.len();
        (count > 1).then(|| format!("has {count} records"))
    })
}

fn an_effect_has_its_record(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        let completed = key.records.iter().any(|record| record.status == COMPLETED);
        (!key.effects.is_empty() && !completed)
            .then(|| "has an effect and no record of it".to_owned())
    })
}

fn a_record_has_its_effect(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        let bare = key.records.iter().find(|record| {
            record.status == COMPLETED
                && !key.effects.iter().any(|effect| {
                    serde_json::to_value(effect.done).is_ok_and(|done| done == record.value)
                        && record.operation == effect.asked.what.operation()
                })
        })?;
        Some(format!("has a record without its effect: {bare:?}"))
    })
}

fn an_effect_was_asked_for(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        let strange = key
            .effects
            .iter()
            .find(|effect| !key.asked.contains(&effect.asked))?;
        Some(format!("has an effect nobody asked for: {strange:?}"))
    })
}

fn money_is_conserved(evidence: &Evidence<'_>) -> Vec<String> {
    let (accounts, sum) = (
        &evidence.tables.accounts,
        evidence.tables.accounts.values().sum::<i64>(),
    );
    let opening = OPENING * ACCOUNTS.cast_signed();
    let held = sum != opening || accounts.len() as u64 != ACCOUNTS;
    let line = || format!("{} accounts hold {sum}, and held {opening}", accounts.len());
    held.then(line).into_iter().collect()
}

fn an_account_holds_what_its_effects_say(evidence: &Evidence<'_>) -> Vec<String> {
    let mut due: BTreeMap<i64, i64> = (0..ACCOUNTS.cast_signed())
        .map(|account| (account, OPENING))
        .collect();
    for Effect { asked, .. } in &evidence.tables.effects {
        *due.entry(asked.from).or_default() -= asked.amount;
        *due.entry(asked.to).or_default() += asked.amount;
    }
    let held = &evidence.tables.accounts;
    due.iter()
        .filter(|(account, due)| held.get(account) != Some(due))
        .map(|(account, due)| {
            let held = held.get(account);
            format!("account {account} holds {held:?}, and its effects make {due}")
        })
        .collect()
}

fn order_numbers_are_unique_and_without_gaps(evidence: &Evidence<'_>) -> Vec<String> {
    let effects = &evidence.tables.effects;
    let mut broken = Vec::new();
    let mut numbers = BTreeSet::new();
    for effect in effects {
        match (effect.asked.what, effect.done.number) {
            (What::Order, Some(number)) if numbers.insert(number) => {}
            (What::Transfer, None) => {}
            _ => broken.push(format!(
                "{} has a number that is none of its own",
                effect.key
            )),
        }
    }
    if !numbers.iter().copied().eq(1..=evidence.tables.counter) {
        let (count, counter) = (numbers.len(), evidence.tables.counter);
        broken.push(format!(
            "{count} orders, and the counter stands at {counter}"
        ));
    }
    broken
}
