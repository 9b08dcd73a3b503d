//! `idem show`.

use idem_runtime::codec::{Codec, Compression, Protection};
use idem_runtime::operate::{OperateBackend, Operator, PayloadForm, RecordDetail};
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
    let record = decompressed(change::record(operator, name).await?);
    if is_json {
        print_json(&as_json(&record, reveal));
    } else {
        print(&record, reveal);
    }
    let is_hidden = record.forms().into_iter().flatten().any(is_unreadable);
    Ok(if reveal && is_hidden {
        Outcome::Found
    } else {
        Outcome::Done
    })
}

/// Reads what is only compressed.
static COMPRESSED: Codec = Codec::new("COMPRESSED");

fn decompressed(record: RecordDetail) -> RecordDetail {
    let is_compressed = |form| form == Some(PayloadForm::Compressed);
    if !record.forms().into_iter().any(is_compressed) {
        return record;
    }
    // It fails only for another key that hashes names, and this one has none.
    let _ = COMPRESSED.install(Protection::compressed(Compression::new()));
    record.clone().open(&COMPRESSED).unwrap_or(record)
}

fn is_unreadable(form: PayloadForm) -> bool {
    form != PayloadForm::Json
}

/// Says why a payload cannot be read here.
fn unreadable(form: PayloadForm) -> String {
    match form {
        PayloadForm::Encrypted { key_id } => {
            format!("encrypted under the key with id {key_id}, which this program does not have")
        }
        PayloadForm::Compressed => "compressed, and damaged or too long".to_owned(),
        _ => "of a form that this build does not know".to_owned(),
    }
}

fn print(record: &RecordDetail, reveal: bool) {
    let summary = &record.summary;
    let key = &summary.record_key;
    let time = |at: Option<_>| {
        at.map(|at| format!("{} ({})", view::time(at), view::ago(at, summary.read_at)))
    };
    let [request, result, failure] = record.forms();
    let payload = |bytes: &Option<Vec<u8>>, form: Option<PayloadForm>, length: Option<u64>| match (
        bytes, form, length,
    ) {
        (_, _, Some(0)) => Some("not kept: too large; only its hash".to_owned()),
        (_, Some(form), Some(length)) if is_unreadable(form) => {
            Some(format!("{length} bytes, {}", unreadable(form)))
        }
        (Some(bytes), ..) if reveal => Some(shown(bytes)),
        (_, _, Some(length)) => Some(format!("{length} bytes, hidden (--reveal)")),
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
        (
            "request",
            payload(&record.request, request, summary.request_bytes),
        ),
        (
            "result",
            payload(&record.result, result, summary.result_bytes),
        ),
        (
            "failure",
            payload(&record.failure, failure, summary.failure_bytes),
        ),
    ]);
}

fn as_json(record: &RecordDetail, reveal: bool) -> Value {
    let mut value = json_of(&record.summary);
    value["fingerprint"] = json!(record.fingerprint.map(|hash| hash.to_string()));
    value["fingerprint_version"] = json!(record.fingerprint_version);
    value["payload_version"] = json!(record.payload_version);
    value["codec"] = json!(record.summary.codec);
    let payloads = [
        ("request", &record.request),
        ("result", &record.result),
        ("failure", &record.failure),
    ];
    for ((name, payload), form) in payloads.into_iter().zip(record.forms()) {
        match form {
            Some(PayloadForm::Encrypted { key_id }) => value["encrypted"][name] = json!(key_id),
            Some(form) if is_unreadable(form) => {
                value["unreadable"][name] = json!(unreadable(form));
            }
            _ if reveal => {
                // Text, not a value: a value would round its numbers.
                let text = payload
                    .as_ref()
                    .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                value[name] = json!(text);
            }
            _ => {}
        }
    }
    value
}
