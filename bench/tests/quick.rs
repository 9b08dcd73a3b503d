//! The bench itself still runs: a few iterations of the blocks that need no other server.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the bench with few iterations, and returns what it said.
fn run(out: &Path, arguments: &[&str]) -> String {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_idem-bench"));
    bench.args(["--quick", "--seed", "1", "--out"]).arg(out);
    let output = bench.args(arguments).output().expect("it can be run");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complaint}");
    said
}

#[test]
fn a_quick_run_leaves_tables_and_figures_and_judges_its_goals() {
    let out = tempfile::tempdir().expect("a directory");
    let blocks = [
        "console",
        "counts",
        "fingerprint",
        "layout",
        "purge",
        "sqlite",
    ];
    let named = blocks.iter().flat_map(|block| ["--block", block]);
    let said = run(out.path(), &named.collect::<Vec<_>>());
    for block in blocks {
        let file = out.path().join(block).with_extension("json");
        let text = fs::read_to_string(&file).expect("it is left");
        let report: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(report["quick"], true);
        let figures = report["figures"].as_object().expect("figures by name");
        assert!(!figures.is_empty(), "{block}");
        assert!(figures.values().all(serde_json::Value::is_number), "{text}");
    }
    let goal = said
        .lines()
        .find(|line| line.contains("a first run, fused: round trips more than plain"))
        .expect("the goals are listed");
    assert!(goal.contains("yes"), "{goal}");
    assert!(
        said.contains("not measured"),
        "a goal of a block that did not run: {said}"
    );
}

#[test]
fn with_a_row_only_the_cases_of_that_name_run_and_no_figure_is_kept() {
    let out = tempfile::tempdir().expect("a directory");
    let said = run(out.path(), &["--block", "counts", "--row", "lease"]);
    assert!(said.contains("| lease mode"), "{said}");
    assert!(
        said.contains("| insert, body, update, each alone"),
        "{said}"
    );
    assert!(
        !said.contains("mismatch") && !said.contains("Goals"),
        "{said}"
    );
    assert!(!out.path().join("counts.json").exists());
}

#[test]
fn growth_is_measured_by_records_and_by_keys_in_one_transaction() {
    let out = tempfile::tempdir().expect("a directory");
    let said = run(out.path(), &["--block", "growth", "--row", "records"]);
    for order in ["keys in time's order", "random keys"] {
        assert!(said.contains(&format!("in the table, {order}")), "{said}");
    }
    // A table of each size has its row: 1,000 records, and the 10,000 of a quick run.
    let rows = said
        .lines()
        .filter(|line| line.starts_with("| 1,000 ") || line.starts_with("| 10,000 "));
    assert_eq!(rows.count(), 4, "{said}");
    let said = run(out.path(), &["--block", "growth", "--row", "keys in one"]);
    assert!(
        said.lines().any(|line| line.starts_with("| 1,000 ")),
        "{said}"
    );
}

#[test]
fn claims_are_timed_by_what_is_beside_them() {
    let out = tempfile::tempdir().expect("a directory");
    let said = run(out.path(), &["--block", "messages", "--row", "claim"]);
    for beside in ["1,000 pending", "many versions held by an open snapshot"] {
        let row = said
            .lines()
            .find(|line| line.starts_with(&format!("| {beside} ")));
        let row = row.unwrap_or_else(|| panic!("no row of {beside}: {said}"));
        assert!(!row.contains("NaN"), "{row}");
    }
    let said = run(out.path(), &["--block", "messages", "--row", "append"]);
    assert!(said.contains("| an appended event more"), "{said}");
}
