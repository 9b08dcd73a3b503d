//! `idem explain`.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use idem_runtime::operate::{
    Comparison, Explanation, OperateBackend, Operator, RecordDetail, Submitted,
};
use serde_json::{Value, json};

use super::change;
use crate::args::Name;
use crate::fault::{Fault, Outcome};
use crate::view::{line, print_json, print_table, shown};

pub(super) async fn run<DB: OperateBackend>(
    operator: &Operator<DB>,
    name: &Name,
    request: &Path,
    operation: Option<String>,
    (reveal, is_json): (bool, bool),
) -> Result<Outcome, Fault> {
    let request = read(request)?;
    let record = change::record(operator, name).await?;
    let operation = operation.unwrap_or_else(|| record.summary.operation.clone());
    let submitted = Submitted {
        operation: &operation,
        request: &request,
    };
    let explanation = record.explain(submitted)?;
    if is_json {
        print_json(&as_json(&explanation, reveal));
    } else {
        print(&explanation, &record, &operation, reveal);
    }
    Ok(match explanation.verdict {
        Comparison::Same | Comparison::NotCompared => Outcome::Done,
        _ => Outcome::Found,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    let read = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    read.map_err(|error| {
        Fault::usage(format!("the request cannot be read: {}", error.kind()))
            .mend("--request <file with a JSON object>, or - for the standard input")
    })
}

fn sentence(explanation: &Explanation, record: &RecordDetail, operation: &str) -> String {
    match explanation.verdict {
        Comparison::Same => {
            "the request is the recorded one: a retry is answered from the record.".to_owned()
        }
        Comparison::NotCompared => {
            "the operation compares no request: only the key counts.".to_owned()
        }
        Comparison::OtherOperation => format!(
            "the key was used on the operation `{}`, and `{operation}` is called now: if it was renamed, keep the old name \
             (`operation = \"{}\"`) until these records have expired.",
            record.summary.operation, record.summary.operation
        ),
        Comparison::Keyed => format!(
            "the fingerprint is keyed, and this program does not have the key with id {}: only a program with the operation's \
             codec can compare.",
            explanation.key_id.unwrap_or_default()
        ),
        Comparison::UnknownVersion => {
            "the fingerprint is of a newer version: use the newest `idem`.".to_owned()
        }
        _ => "the request differs from the recorded one, and is refused (422).".to_owned(),
    }
}

fn print(explanation: &Explanation, record: &RecordDetail, operation: &str, reveal: bool) {
    line(&sentence(explanation, record, operation));
    let value = |value: &Option<Value>| match value {
        None => "(absent)".to_owned(),
        Some(value) if reveal => shown(value.to_string().as_bytes()),
        Some(value) => format!("({}, hidden)", kind(value)),
    };
    if !explanation.differences.is_empty() {
        let rows = explanation.differences.iter().map(|difference| {
            let path = if difference.path.is_empty() {
                "(all)".to_owned()
            } else {
                shown(difference.path.as_bytes())
            };
            [
                path,
                value(&difference.recorded),
                value(&difference.submitted),
            ]
        });
        print_table(["PATH", "RECORDED", "NOW"], rows, "");
    }
    for hint in &explanation.hints {
        line(&format!("- {}", shown(hint.as_bytes())));
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn as_json(explanation: &Explanation, reveal: bool) -> Value {
    let verdict = match explanation.verdict {
        Comparison::Same => "same",
        Comparison::OtherOperation => "other-operation",
        Comparison::NotCompared => "not-compared",
        Comparison::Keyed => "keyed",
        Comparison::UnknownVersion => "unknown-version",
        _ => "different",
    };
    let differences = explanation.differences.iter().map(|difference| {
        let mut value = json!({ "path": difference.path });
        if reveal {
            value["recorded"] = json!(difference.recorded);
            value["submitted"] = json!(difference.submitted);
        }
        value
    });
    json!({
        "verdict": verdict,
        "key_id": explanation.key_id,
        "recorded": explanation.recorded.map(|hash| hash.to_string()),
        "submitted": explanation.submitted.map(|hash| hash.to_string()),
        "differences": differences.collect::<Value>(),
        "hints": explanation.hints,
    })
}
