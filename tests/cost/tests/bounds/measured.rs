//! Runs the program under callgrind, on a separate server.

use std::fs;
use std::process::{Command, Stdio};

use idem_tests_cluster::{Cluster, Options};

use crate::callgrind::instructions_inside;
use crate::table::{Cost, Table};

/// The module of stretches in the program, as its symbols are spelled.
const MODULE: &str = "idem_tests_cost::stretch::";

/// Measures every stretch once.
///
/// # Panics
///
/// Panics if there is no valgrind or no PostgreSQL server on this machine, or if the program fails.
pub(crate) fn table() -> Table {
    let cluster = Cluster::start(Options::new()).expect("a PostgreSQL server");
    let profile = concat!(env!("CARGO_TARGET_TMPDIR"), "/callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .args(["--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={profile}"))
        .arg(env!("CARGO_BIN_EXE_idem-tests-cost"))
        .arg(cluster.url("postgres"))
        // A variable of libpq would have an effect, too.
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "IDEM_COST_RESULT"))
        .stderr(Stdio::inherit())
        .output()
        .expect("valgrind can be run: `cargo xtask cost` installs it");
    assert!(output.status.success(), "{}", output.status);
    let allocated = String::from_utf8(output.stdout).expect("the program prints text");
    let profile = fs::read(profile).expect("callgrind has written its profile");
    let profile = String::from_utf8_lossy(&profile);
    let lines = allocated.lines().map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        let [name, allocations, bytes] = words[..] else {
            panic!("not a stretch: {line}");
        };
        let number = |text: &str| text.parse().expect("a number");
        let instructions = instructions_inside(&profile, &format!("{MODULE}{name}"))
            .unwrap_or_else(|| panic!("callgrind found no calls of {name}"));
        let cost = Cost {
            instructions,
            allocations: number(allocations),
            bytes: number(bytes),
        };
        (name.to_owned(), cost)
    });
    Table(lines.collect())
}
