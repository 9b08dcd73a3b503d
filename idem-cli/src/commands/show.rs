//! `idem show`.

use idem_runtime::operate::{OperateBackend, Operator, RecordDetail};
use serde_json::{Value, json};

use super::change;
use super::list::{json_of, on_lapse, status_of};
use crate::args::Name;
use crate::fault::{Fault, Outcome};
use crate::view::{self, print_json, print_pairs, shown};

pub(super) async fn run<DB: OperateBackend>(
    operator: &Operator<DB>,
    name: &Name,
    reveal: bool,
    is_json: bool,
) -> Result<Outcome, Fault> {
    let record = change::record(operator, name).await?;
    if is_json {
        print_json(&as_json(&record, reveal));
    } else {
        print(&record, reveal);
    }
    Ok(Outcome::Done)
}

fn print(record: &RecordDetail, reveal: bool) {
    let summary = &record.summary;
    let key = &summary.record_key;
    let time = |at: Option<_>| {
        at.map(|at| format!("{} ({})", view::time(at), view::ago(at, summary.read_at)))
    };
    let payload = |bytes: &Option<Vec<u8>>, length: Option<u64>| match (bytes, length) {
        (_, Some(0)) => Some("not kept: too large; only its hash".to_owned()),
        (Some(bytes), _) if reveal => Some(shown(bytes)),
        (_, Some(length)) => Some(format!("{length} bytes, hidden (--reveal)")),
        _ => None,
    };
    print_pairs([
        ("namespace", Some(key.namespace().to_owned())),
        ("scope", Some(view::scope(key.scope()))),
        ("key", Some(key.key().to_owned())),
        ("operation", Some(summary.operation.clone())),
        ("status", Some(status_of(summary))),
        ("attempt", Some(summary.attempt.to_string())),
        ("attempt id", Some(summary.attempt_id.to_string())),
        (
            "on lapse",
            summary.on_lapse.map(|policy| on_lapse(policy).to_owned()),
        ),
        ("written", time(Some(summary.created_at))),
        ("lease until", time(summary.locked_until)),
        ("kept until", time(summary.expires_at)),
        ("external key", summary.external_key()),
        (
            "fingerprint",
            record.fingerprint.map(|hash| hash.to_string()),
        ),
        (
            "version",
            record.payload_version.map(|version| version.to_string()),
        ),
        ("request", payload(&record.request, summary.request_bytes)),
        ("result", payload(&record.result, summary.result_bytes)),
        ("failure", payload(&record.failure, summary.failure_bytes)),
    ]);
}

fn as_json(record: &RecordDetail, reveal: bool) -> Value {
    let mut value = json_of(&record.summary);
    value["fingerprint"] = json!(record.fingerprint.map(|hash| hash.to_string()));
    value["fingerprint_version"] = json!(record.fingerprint_version);
    value["codec"] = json!(record.codec);
    value["payload_version"] = json!(record.payload_version);
    if reveal {
        for (name, payload) in [
            ("request", &record.request),
            ("result", &record.result),
            ("failure", &record.failure),
        ] {
            // Text, not a value: a value would round its numbers.
            let text = payload
                .as_ref()
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            value[name] = json!(text);
        }
    }
    value
}
