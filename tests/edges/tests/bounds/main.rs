//! No call of a transport costs more than `bounds.txt` allows, with the bare framework and with the edge.

mod added;

use std::path::Path;

use idem_tests_counting::bounds::expect_within;
use idem_tests_counting::callgrind;

use self::added::Added;

#[test]
fn an_edge_costs_no_more_than_its_bound() {
    let optimised = cfg!(not(debug_assertions));
    assert!(
        optimised,
        "only the cost of an optimised build is meaningful: run `cargo xtask cost --edges`"
    );
    let measured = callgrind::measure(
        Path::new(env!("CARGO_BIN_EXE_idem-tests-edges")),
        &[],
        &[],
        "idem_tests_edges::stretch",
        Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/callgrind.out")),
    );
    println!("{measured}\n{}", Added(&measured));
    let bounds = concat!(env!("CARGO_MANIFEST_DIR"), "/bounds.txt");
    expect_within(
        &measured,
        Path::new(bounds),
        "cargo xtask cost --edges --bless",
    );
}
