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

/// With a recorder of metrics, and with a codec, the bounds are others.
const BOUNDS: &str = if cfg!(feature = "metrics") {
    concat!(env!("CARGO_MANIFEST_DIR"), "/bounds_metrics.txt")
} else if cfg!(feature = "encrypt") {
    concat!(env!("CARGO_MANIFEST_DIR"), "/bounds_encrypt.txt")
} else {
    concat!(env!("CARGO_MANIFEST_DIR"), "/bounds.txt")
};

/// The last measurement without metrics, which that with metrics is compared with.
const WITHOUT_METRICS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/without_metrics.txt");

/// The stretches of a first run.
const FIRST_RUN: [&str; 3] = [
    "call_to_first_byte",
    "first_byte_to_last",
    "last_byte_to_return",
];

/// What metrics may add to the instructions of a first run, in hundredths.
const METRICS: u64 = 3;

#[test]
fn a_call_costs_no_more_than_its_bound() {
    let optimised = cfg!(not(debug_assertions));
    assert!(
        optimised,
        "only the cost of an optimised build is meaningful: run `cargo xtask cost`"
    );
    let measured = measured::table();
    println!("{measured}");
    if cfg!(feature = "metrics") {
        expect_little_of_metrics(&measured);
    } else if !cfg!(feature = "encrypt") {
        fs::write(WITHOUT_METRICS, measured.to_string()).expect("the figures can be written");
    }
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

/// Compares with the measurement of the same call, built without metrics.
#[track_caller]
fn expect_little_of_metrics(measured: &Table) {
    let without = fs::read_to_string(WITHOUT_METRICS)
        .expect("the figures without metrics: run `cargo xtask cost`, which measures both");
    let without: Table = without.parse().expect("the figures are a table");
    let sum = |table: &Table| {
        let costs = FIRST_RUN.map(|stretch| {
            let mut rows = table.0.iter();
            let row = rows.find(|(name, _)| name == stretch);
            row.expect("a stretch of the first run").1.instructions
        });
        costs.iter().sum::<u64>()
    };
    let (with, without) = (sum(measured), sum(&without));
    println!("a first run: {without} instructions, with metrics {with}");
    assert!(
        with * 100 <= without * (100 + METRICS),
        "metrics make a first run cost {with} instructions in place of {without}: more than {METRICS} % more"
    );
}
