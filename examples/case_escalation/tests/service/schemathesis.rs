//! Checks the service against its OpenAPI document, by schemathesis.

use std::path::Path;

use idem_tests_cluster::schemathesis;
use serde_json::Value;
use tokio::process::Command;

use crate::desk::Desk;

const CONFIG: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/service/schemathesis.toml"
);

#[tokio::test(flavor = "multi_thread")]
async fn the_document_says_what_is_answered() {
    let desk = Desk::open().await;
    let document = format!("{}/openapi.json", desk.url);
    let mut command = Command::from(schemathesis::command().expect("schemathesis"));
    let output = command
        .args(["--config-file", CONFIG, "run", &document, "--checks", "all"])
        .args(["--max-examples", "20"])
        .args(["--generation-deterministic", "--no-color"])
        // A busy machine is no finding.
        .args(["--suppress-health-check", "all", "--request-timeout", "60"])
        .current_dir(Path::new(env!("CARGO_TARGET_TMPDIR")))
        .output()
        .await
        .expect("schemathesis runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    // It tried all operations, and each was served at least once.
    let tables: Value = desk.tables().await;
    assert!(
        tables["idem_record"]
            .as_array()
            .is_some_and(|rows| !rows.is_empty()),
        "{said}"
    );
}
