//! Every seed and a bounded number of mutants keep the law of their target.

use std::fmt::Write as _;
use std::thread;

use idem_fuzz::{TARGETS, Target, mutants, seeds, target};

/// Executions for each target: some seconds in an unoptimised build.
const MUTANTS: usize = 10_000;

/// Prints the input if its law panics, in a form that can become a file in the corpus.
struct Shown<'a>(&'a [u8]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut text = String::new();
            for byte in self.0 {
                let _ = write!(text, "\\x{byte:02x}");
            }
            eprintln!("the input, for printf: '{text}'");
        }
    }
}

fn keeps_its_law(target: &Target, input: &[u8]) {
    let shown = Shown(input);
    (target.law)(input);
    drop(shown);
}

fn run(name: &str) {
    let target = target(name).expect("a target of that name");
    let seeds = seeds(&target).expect("a corpus");
    assert!(!seeds.is_empty());
    for (file, seed) in &seeds {
        eprintln!("{file}");
        keeps_its_law(&target, seed);
    }
    let seeds = seeds.into_iter().map(|(_, seed)| seed).collect();
    for mutant in mutants(&target, seeds).take(MUTANTS) {
        keeps_its_law(&target, &mutant);
    }
}

#[test]
fn keys_and_names_are_read_by_their_rules() {
    run("key");
}

#[test]
fn headers_are_read_by_rfc_8941_and_the_rules_beside_it() {
    run("header");
}

#[test]
fn durations_are_read_by_the_sentence_that_describes_them() {
    run("duration");
}

#[test]
fn json_text_has_the_form_that_the_rules_say() {
    run("canonical_text");
}

#[test]
fn typed_values_have_the_form_that_the_rules_say() {
    run("canonical_typed");
}

#[test]
fn requests_are_equal_exactly_when_their_fingerprints_are() {
    run("request_equality");
}

#[test]
fn every_target_is_run_here() {
    assert_eq!(TARGETS.len(), 6);
}
