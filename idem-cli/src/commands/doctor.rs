//! `idem doctor`.

use std::time::Duration;

use idem_runtime::operate::{Examination, OperateBackend, Operator};
use serde_json::{Value, json};

use crate::fault::{Fault, Outcome};
use crate::view::{line, print_json};

pub(super) async fn run<DB: OperateBackend>(
    operator: &Operator<DB>,
    broker_window: Option<Duration>,
    is_json: bool,
) -> Result<Outcome, Fault> {
    let examination = match broker_window {
        Some(window) => Examination::default().broker_window(window),
        None => Examination::default(),
    };
    let found = operator.examine(&examination).await?;
    if is_json {
        let found = found.iter().map(|finding| {
            json!({
                "severity": finding.severity.to_string(),
                "check": finding.check,
                "text": finding.text,
                "mend": finding.mend,
            })
        });
        print_json(&found.collect::<Value>());
    } else if found.is_empty() {
        line("nothing was found");
    } else {
        for finding in &found {
            line(&format!(
                "{} {}: {}",
                finding.severity, finding.check, finding.text
            ));
            line(&format!("  mend: {}", finding.mend));
        }
    }
    Ok(if found.is_empty() {
        Outcome::Done
    } else {
        Outcome::Found
    })
}
