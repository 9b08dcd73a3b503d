//! No stretch of a call costs more than `bounds.txt` allows, in instructions and in allocations.

mod measured;

use std::fs;
use std::path::Path;

use idem_tests_counting::bounds::expect_within;
use idem_tests_counting::table::Table;

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
    expect_within(&measured, Path::new(BOUNDS), "cargo xtask cost --bless");
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
