//! Each law finds its breach in an invented run; a sound run breaks none.

use std::collections::BTreeSet;

use super::{LAWS, violations};
use crate::torture::evidence::{Effect, Evidence, Letter, Publication, Row, Tables};
use crate::torture::fact::{Fact, PARTITIONS};

fn fact(key: &str, partition: i64, number: i64) -> Fact {
    Fact {
        key: key.to_owned(),
        partition,
        number,
    }
}

/// Returns a sound run: two events of a partition, the first of them published twice, and one event without a partition.
fn sound() -> Evidence {
    let facts = [fact("a", 0, 1), fact("b", 0, 2), fact("c", PARTITIONS, 0)];
    let event = |fact: &Fact| format!("event-{}", fact.key);
    let publication = |fact: &Fact| Publication {
        event: event(fact),
        topic: fact.topic(),
        fact: fact.clone(),
    };
    let row = |fact: &Fact| Row {
        event: event(fact),
        state: 1,
        fact: fact.clone(),
        attempts: 1,
        error: None,
    };
    let effect = |fact: &Fact| Effect {
        event: event(fact),
        fact: fact.clone(),
    };
    Evidence {
        calls: 4,
        events: 3,
        answered: 4,
        forbidden: Vec::new(),
        tables: Tables {
            numbers: [(0, 2), (1, 0)].into(),
            effects: facts.iter().map(effect).collect(),
            rows: facts.iter().map(row).collect(),
            booked: facts.iter().rev().cloned().collect(),
            shown: facts.to_vec(),
        },
        publications: [0, 1, 0, 2].map(|n| publication(&facts[n])).into(),
        letters: Vec::new(),
        waiting: 0,
    }
}

/// Returns the laws that are broken once `breach` has changed the sound run.
fn broken(breach: impl FnOnce(&mut Evidence)) -> BTreeSet<&'static str> {
    let mut evidence = sound();
    breach(&mut evidence);
    let broken = violations(&evidence).into_iter();
    broken.map(|violation| violation.law).collect()
}

#[test]
fn a_sound_run_breaks_no_law() {
    assert_eq!(broken(|_| {}), BTreeSet::new());
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
    every_call_is_answered: |run| run.answered = 3;
    no_answer_is_forbidden: |run| run.forbidden.push("a: Duplicate".to_owned());
    a_key_has_one_effect: |run| {
        let again = run.tables.effects[0].clone();
        run.tables.effects.push(again);
    };
    the_numbers_of_a_partition_have_no_gaps: |run| {
        run.tables.numbers.insert(0, 3);
    };
    an_effect_has_one_event_row: |run| {
        run.tables.rows.remove(0);
    };
    an_event_row_has_its_effect: |run| {
        run.tables.effects.remove(0);
    };
    every_event_has_left: |run| run.tables.rows[0].state = 3;
    no_event_is_dead: |run| run.tables.rows[0].state = 2;
    an_event_is_published: |run| {
        run.publications.remove(1);
    };
    what_is_published_was_appended: |run| run.publications[0].fact.number = 7;
    a_partition_is_published_in_order: |run| run.publications.swap(0, 1);
    nothing_waits_at_the_broker: |run| run.waiting = 1;
    no_message_is_dead: |run| {
        run.letters.push(Letter {
            topic: "dead.ledger.refused".to_owned(),
            detail: String::new(),
            payload: "{}".to_owned(),
        });
    };
    a_consumer_has_the_effect_of_each_event: |run| {
        run.tables.booked.remove(0);
    };
    a_consumer_has_the_effect_of_an_event_once: |run| {
        let again = run.tables.booked[0].clone();
        run.tables.booked.push(again);
    };
    a_consumer_has_no_effect_without_its_event: |run| {
        run.tables.booked.push(fact("d", PARTITIONS, 0));
    };
    the_projection_follows_the_order_of_its_partition: |run| run.tables.shown.swap(0, 1);
}

#[test]
fn effects_that_are_missing_and_rows_that_are_twice_are_found_too() {
    let missing = |run: &mut Evidence| drop(run.tables.effects.remove(2));
    assert!(broken(missing).contains("a_key_has_one_effect"));
    let twice = |run: &mut Evidence| {
        let again = run.tables.rows[0].clone();
        run.tables.rows.push(again);
    };
    assert!(broken(twice).contains("an_effect_has_one_event_row"));
    let elsewhere = |run: &mut Evidence| run.publications[0].topic = "events.2".to_owned();
    assert!(broken(elsewhere).contains("what_is_published_was_appended"));
}
