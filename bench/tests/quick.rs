//! The bench itself still runs: a few iterations of the blocks that need no other server.

use std::fs;
use std::process::Command;

#[test]
fn a_quick_run_leaves_tables_and_figures_and_judges_its_goals() {
    let out = tempfile::tempdir().expect("a directory");
    let mut bench = Command::new(env!("CARGO_BIN_EXE_idem-bench"));
    bench
        .args(["--quick", "--seed", "1", "--out"])
        .arg(out.path());
    let blocks = ["counts", "fingerprint", "layout", "purge"];
    for block in blocks {
        bench.args(["--block", block]);
    }
    let output = bench.output().expect("it can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complaint}");
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
