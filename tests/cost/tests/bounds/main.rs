//! No stretch of a call costs more than `bounds.txt` allows, in instructions and in allocations.
//!
//! Callgrind counts the instructions. It executes them itself, so the counts are the same on every
//! machine that it treats as the same processor, however busy or slow. They do not include the
//! kernel.

mod callgrind;
mod measured;
mod table;

use std::env;
use std::fs;

use self::table::{Table, Verdict};

/// The variable that, set to `overwrite`, replaces the bounds instead of comparing with them.
const BLESS: &str = "IDEM_COST";

const BOUNDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bounds.txt");

#[test]
fn a_call_costs_no_more_than_its_bound() {
    let optimised = cfg!(not(debug_assertions));
    assert!(
        optimised,
        "only the cost of an optimised build is meaningful: run `cargo xtask cost`"
    );
    let measured = measured::table();
    println!("{measured}");
    if env::var_os(BLESS).is_some_and(|value| value == "overwrite") {
        fs::write(BOUNDS, measured.to_string()).expect("the bounds can be written");
        return;
    }
    let bounds = fs::read_to_string(BOUNDS).expect("the bounds can be read");
    let bounds: Table = bounds.parse().expect("the bounds are a table");
    let verdict = Verdict::of(&measured, &bounds);
    for line in &verdict.lower {
        println!("{line}");
    }
    assert!(verdict.faults.is_empty(), "\n{}", verdict.faults.join("\n"));
}
