//! Each law finds its breach in an invented history; a sound history breaks none.

use std::collections::BTreeSet;

use serde_json::json;

use super::{LAWS, violations};
use crate::torture::calls::{Asked, Done, OPENING, What};
use crate::torture::engine::{Effect, Record, Tables};
use crate::torture::history::{Answer, Entry, History};
use crate::torture::notices::{Lapse, Notice};

const TRANSFER: Asked = Asked {
    what: What::Transfer,
    from: 0,
    to: 1,
    amount: 5,
};
const ORDER: Asked = Asked {
    what: What::Order,
    amount: 7,
    ..TRANSFER
};
const DONE: Done = Done {
    run: 100,
    number: None,
};
const ORDERED: Done = Done {
    run: 200,
    number: Some(1),
};

fn call(key: &str, asked: Asked, answer: Answer) -> Entry {
    Entry {
        index: 0,
        key: key.to_owned(),
        asked,
        answer: Some(answer),
    }
}

fn done(done: Done, replayed: bool) -> Answer {
    Answer::Done { done, replayed }
}

fn effect(key: &str, asked: Asked, done: Done) -> Effect {
    Effect {
        key: key.to_owned(),
        asked,
        done,
    }
}

fn record(key: &str, operation: &str, status: i64, value: serde_json::Value) -> Record {
    Record {
        key: key.to_owned(),
        operation: operation.to_owned(),
        status,
        value,
    }
}

fn sent(key: &str, lapse: Lapse, external: &str) -> Notice {
    Notice::Sent {
        key: key.to_owned(),
        lapse,
        external: external.to_owned(),
    }
}

/// Returns a sound history: a transfer that was replayed, and refused to another request; an order;
/// and a permanent failure.
fn sound() -> (History, Tables) {
    let other = Asked {
        amount: 1_005,
        ..TRANSFER
    };
    let history = History {
        calls: vec![
            call("a", TRANSFER, done(DONE, false)),
            call("a", TRANSFER, done(DONE, true)),
            call("a", other, Answer::Mismatch),
            call("b", ORDER, done(ORDERED, false)),
            call("c", TRANSFER, Answer::Declined { amount: 5 }),
        ],
        notices: vec![
            sent("n", Lapse::Unknown, "x"),
            sent("m", Lapse::Retry, "y"),
            sent("m", Lapse::Retry, "y"),
        ],
        ..History::default()
    };
    let mut tables = Tables {
        counter: 1,
        accounts: (0..16).map(|account| (account, OPENING)).collect(),
        effects: vec![effect("a", TRANSFER, DONE), effect("b", ORDER, ORDERED)],
        records: vec![
            record("a", "transfer", 1, json!({"run": 100, "number": null})),
            record("b", "order", 1, json!({"run": 200, "number": 1})),
            record("c", "transfer", 2, json!({"data": {"amount": 5}})),
        ],
        unfinished: 0,
    };
    tables.accounts.insert(0, OPENING - 12);
    tables.accounts.insert(1, OPENING + 12);
    (history, tables)
}

/// Returns the laws that are broken once `breach` has changed the sound history.
fn broken(breach: impl FnOnce(&mut History, &mut Tables)) -> BTreeSet<&'static str> {
    let (mut history, mut tables) = sound();
    breach(&mut history, &mut tables);
    violations(&history, &tables)
        .into_iter()
        .map(|violation| violation.law)
        .collect()
}

/// Adds a second transfer of the key `a` with all its rows except the record.
fn again(tables: &mut Tables) {
    let twice = Done { run: 101, ..DONE };
    tables.effects.push(effect("a", TRANSFER, twice));
    *tables.accounts.get_mut(&0).unwrap() -= 5;
    *tables.accounts.get_mut(&1).unwrap() += 5;
}

/// Removes the transfer of the key `a` except its record.
fn undone(tables: &mut Tables) {
    tables.effects.remove(0);
    *tables.accounts.get_mut(&0).unwrap() += 5;
    *tables.accounts.get_mut(&1).unwrap() -= 5;
}

#[test]
fn a_sound_history_breaks_no_law() {
    assert_eq!(broken(|_, _| {}), BTreeSet::new());
}

macro_rules! breaches {
    ($($law:ident: $breach:expr;)+) => {
        $(#[test]
        fn $law() {
            let broken = broken($breach);
            assert!(broken.contains(stringify!($law)), "broken are {broken:?}");
        })+

        #[test]
        fn every_law_has_its_breach() {
            let breaches = [$(stringify!($law)),+];
            assert_eq!(LAWS.map(|(law, _)| law), breaches);
        }
    };
}

breaches! {
    every_call_is_answered: |history, _| history.calls[1].answer = None;
    no_answer_is_forbidden: |history, _| {
        history.calls[1].answer = Some(Answer::Forbidden("RecordInvisible".to_owned()));
    };
    a_key_has_one_effect_at_most: |_, tables| again(tables);
    a_success_has_one_effect: |_, tables| {
        undone(tables);
        tables.records.remove(0);
    };
    the_successes_of_a_key_carry_one_value: |history, _| {
        history.calls[1].answer = Some(done(Done { run: 101, ..DONE }, true));
    };
    an_answer_is_to_the_request_that_was_sent: |history, _| {
        history.calls[2].answer = Some(done(DONE, true));
    };
    a_key_is_answered_afresh_once_at_most: |history, _| {
        history.calls[1].answer = Some(done(DONE, false));
    };
    a_failure_for_good_is_recorded_and_undone: |_, tables| {
        tables.records.pop();
    };
    a_refused_request_is_not_the_recorded_one: |history, _| history.calls[2].asked = TRANSFER;
    a_key_has_one_record_at_most: |_, tables| {
        let twin = tables.records[0].clone();
        tables.records.push(twin);
    };
    an_effect_has_its_record: |_, tables| {
        tables.records.remove(0);
    };
    a_record_has_its_effect: |history, tables| {
        undone(tables);
        history.calls.drain(..3);
    };
    an_effect_was_asked_for: |history, _| {
        history.calls.drain(..3);
    };
    money_is_conserved: |_, tables| *tables.accounts.get_mut(&2).unwrap() += 1;
    an_account_holds_what_its_effects_say: |_, tables| {
        *tables.accounts.get_mut(&2).unwrap() += 1;
        *tables.accounts.get_mut(&3).unwrap() -= 1;
    };
    order_numbers_are_unique_and_without_gaps: |_, tables| tables.counter = 2;
    nothing_is_stuck_in_flight: |_, tables| tables.unfinished = 1;
    nothing_that_commit_refused_remains: |_, tables| tables.effects[0].done.run = -100;
    no_leased_call_is_forbidden: |history, _| {
        history.notices.push(Notice::Forbidden {
            key: "n".to_owned(),
            words: "RecordInvisible".to_owned(),
        });
    };
    under_unknown_an_effect_outside_happens_once_at_most: |history, _| {
        history.notices.push(sent("n", Lapse::Unknown, "x"));
    };
    the_effects_outside_of_a_key_have_one_external_key: |history, _| {
        history.notices.push(sent("m", Lapse::Retry, "z"));
    };
    the_lease_of_an_owner_that_lives_does_not_lapse: |history, _| {
        history.notices.push(Notice::Lapsed {
            key: "n".to_owned(),
        });
    };
}

#[test]
fn a_failure_of_another_request_and_a_record_stuck_are_seen_too() {
    let declined = |history: &mut History, _: &mut Tables| {
        history.calls[4].answer = Some(Answer::Declined { amount: 6 });
    };
    assert!(broken(declined).contains("an_answer_is_to_the_request_that_was_sent"));
    let stuck = |_: &mut History, tables: &mut Tables| tables.records[2].status = 3;
    assert!(broken(stuck).contains("nothing_is_stuck_in_flight"));
    let repeated = |_: &mut History, tables: &mut Tables| tables.effects[0].done = ORDERED;
    assert!(broken(repeated).contains("order_numbers_are_unique_and_without_gaps"));
    let refused = |history: &mut History, _: &mut Tables| {
        history.calls.push(call("c", TRANSFER, Answer::Mismatch));
    };
    assert!(broken(refused).contains("a_refused_request_is_not_the_recorded_one"));
}
