//! Laws of the lock file: what is a difference, and what it means.

use std::collections::BTreeMap;

use super::compare::{Effect, compare};
use super::file::{Locked, Operations, duration, read, write};

fn locked(parts: &[(&str, &str)]) -> Locked {
    Locked {
        compared: parts
            .iter()
            .map(|(path, shape)| ((*path).to_owned(), (*shape).to_owned()))
            .collect(),
        fingerprint: None,
        result_version: 1,
        oldest_version: 1,
        write_version: 1,
        retention: 86_400,
        source: None,
    }
}

fn one(locked: Locked) -> Operations {
    BTreeMap::from([(("p".to_owned(), "pay".to_owned()), locked)])
}

/// Returns the worst effect of a change of the parts, and what is said of it.
fn effect(before: &[(&str, &str)], after: &[(&str, &str)]) -> (Vec<Effect>, String) {
    let changes = compare(&one(locked(before)), &one(locked(after)));
    let [change] = &changes[..] else {
        panic!("{changes:?}");
    };
    let effects = change
        .consequences
        .iter()
        .map(|consequence| consequence.effect);
    (effects.collect(), change.to_string())
}

#[test]
fn a_file_says_what_was_written_into_it() {
    let mut odd = locked(&[
        ("cmd.\"a\\b\"\n\u{7f}\u{1}.c", "one of \"x'y\" \"é\""),
        ("to", "string"),
    ]);
    odd.result_version = 3;
    odd.oldest_version = 2;
    odd.write_version = 2;
    odd.retention = 86_400 + 3_661;
    let mut off = locked(&[]);
    off.fingerprint = Some("off".to_owned());
    let operations = Operations::from([
        (("a-b_1".to_owned(), "Zahlung \"é\" 'x'".to_owned()), odd),
        (("p".to_owned(), "<shop::import>".to_owned()), off),
    ]);
    let text = write(&operations);
    assert_eq!(read(&text).as_ref(), Ok(&operations), "{text}");
    assert_eq!(read(""), Ok(Operations::new()));
    let twice = write(&one(locked(&[])))
        + "\n[[operation]]\nnamespace = \"p\"\nname = \"pay\"\nretention = \"1d\"\nresult_version = 1\n";
    assert!(read(&twice).is_err_and(|why| why.contains("there twice")));
    assert_eq!(duration(90_061), "1d1h1m1s");
}

#[test]
fn a_name_that_changes_refuses_and_the_old_one_is_told() {
    let (effects, said) = effect(
        &[("cmd.cents", "integer"), ("cmd.to", "string")],
        &[("cmd.amount", "integer"), ("cmd.to", "string")],
    );
    assert_eq!(effects, [Effect::Refuses]);
    assert!(said.contains("`#[serde(rename = \"cents\")]`"), "{said}");
    let (effects, said) = effect(
        &[("cmd.cents", "integer"), ("cmd.to", "string")],
        &[("command.cents", "integer"), ("command.to", "string")],
    );
    assert_eq!(effects, [Effect::Refuses]);
    assert!(said.contains("`let command = cmd;`"), "{said}");
    // Of two candidates none is the new name.
    let (effects, _) = effect(&[("a", "string")], &[("b", "string"), ("c", "string")]);
    assert_eq!(effects, [Effect::Refuses; 3]);
}

#[test]
fn what_may_be_absent_is_compatible() {
    let before = [("cmd.to", "string")];
    let (effects, _) = effect(
        &before,
        &[("cmd.memo", "string, optional"), ("cmd.to", "string")],
    );
    assert_eq!(effects, [Effect::Safe]);
    let (effects, said) = effect(&before, &[("cmd.memo", "string"), ("cmd.to", "string")]);
    assert_eq!(effects, [Effect::Refuses]);
    assert!(said.contains("make `cmd.memo` an `Option`"), "{said}");
    let (effects, _) = effect(&before, &[("cmd.to", "string, optional")]);
    assert_eq!(effects, [Effect::Safe]);
}

#[test]
fn a_shape_that_changes_refuses_unless_every_old_value_remains() {
    let (effects, _) = effect(&[("n", "integer")], &[("n", "string")]);
    assert_eq!(effects, [Effect::Refuses]);
    let (more, fewer) = ([("c", "one of \"A\" \"B\"")], [("c", "one of \"A\"")]);
    assert_eq!(effect(&fewer, &more).0, [Effect::Safe]);
    assert_eq!(effect(&more, &fewer).0, [Effect::Refuses]);
    let opaque = [("cmd", "opaque: Cmd")];
    let (effects, _) = effect(&opaque, &[("cmd", "opaque: Other")]);
    assert_eq!(effects, [Effect::MayRefuse]);
    let (effects, said) = effect(&opaque, &[("cmd.a", "string"), ("cmd.b", "string")]);
    assert_eq!(effects, [Effect::MayRefuse], "{said}");
}

#[test]
fn a_version_may_rise_and_not_fall() {
    let of = |versions: [u16; 3]| {
        let [result_version, oldest_version, write_version] = versions;
        one(Locked {
            result_version,
            oldest_version,
            write_version,
            ..locked(&[])
        })
    };
    for (before, after, effects) in [
        ([1, 1, 1], [2, 1, 1], vec![Effect::Safe]),
        ([1, 1, 1], [2, 1, 2], vec![Effect::MayRefuse]),
        ([2, 1, 1], [2, 1, 2], vec![Effect::Safe]),
        ([2, 1, 2], [2, 2, 2], vec![Effect::MayRefuse]),
        ([2, 1, 2], [1, 1, 1], vec![Effect::Refuses]),
        ([2, 1, 1], [1, 1, 1], vec![Effect::Safe]),
    ] {
        let changes = compare(&of(before), &of(after));
        let found: Vec<_> = changes[0]
            .consequences
            .iter()
            .map(|consequence| consequence.effect)
            .collect();
        assert_eq!(found, effects, "{before:?} {after:?}");
    }
}
