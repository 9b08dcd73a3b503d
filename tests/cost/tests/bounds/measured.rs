//! Runs the program under callgrind, on a separate server.

use std::path::Path;

use idem_tests_cluster::{Cluster, Options};
use idem_tests_counting::callgrind;
use idem_tests_counting::table::Table;

/// The module of stretches in the program, as its symbols are spelled.
const MODULE: &str = "idem_tests_cost::stretch";

/// Measures every stretch once.
///
/// # Panics
///
/// Panics if there is no valgrind or no PostgreSQL server on this machine, or if the program fails.
pub(crate) fn table() -> Table {
    let cluster = Cluster::start(Options::new()).expect("a PostgreSQL server");
    callgrind::measure(
        Path::new(env!("CARGO_BIN_EXE_idem-tests-cost")),
        &[&cluster.url("postgres")],
        &["IDEM_COST_RESULT"],
        MODULE,
        Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/callgrind.out")),
    )
}
