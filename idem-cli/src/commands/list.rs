//! `idem list`.

use idem_runtime::operate::{Filter, OperateBackend, Operator, RecordSummary, StoredStatus};
use idem_runtime::policy::OnLapse;
use serde_json::{Value, json};

use crate::args::{List, Status};
use crate::fault::{Fault, Outcome};
use crate::view::{self, json_time, line, print_json, print_table};

pub(super) async fn run<DB: OperateBackend>(
    operator: &Operator<DB>,
    list: List,
    is_json: bool,
) -> Result<Outcome, Fault> {
    let filter = Filter {
        statuses: list.status.into_iter().map(status).collect(),
        namespace: list.namespace,
        operation: list.operation,
        scope: list.scope,
        key: None,
        key_hash: list.key_hash,
        older_than: list.older_than,
        lapsed: list.lapsed,
        // One more shows whether there are more.
        limit: list.limit.saturating_add(1),
    };
    let mut records = operator.list(&filter).await?;
    let limit = usize::try_from(list.limit).unwrap_or(usize::MAX);
    let is_cut = records.len() > limit;
    records.truncate(limit);
    if is_json {
        let records = records.iter().map(json_of).collect::<Value>();
        print_json(&json!({ "records": records, "cut": is_cut }));
        return Ok(Outcome::Done);
    }
    let rows = records.iter().map(|record| {
        let key = &record.record_key;
        [
            key.namespace().to_owned(),
            view::scope(key.scope()),
            key.key().to_owned(),
            record.operation.clone(),
            status_of(record),
            record.attempt.to_string(),
            view::ago(record.created_at, record.read_at),
            until(record),
        ]
    });
    let header = [
        "NAMESPACE",
        "SCOPE",
        "KEY",
        "OPERATION",
        "STATUS",
        "ATTEMPT",
        "WRITTEN",
        "UNTIL",
    ];
    print_table(header, rows, "no record");
    if is_cut {
        line(&format!(
            "cut at {limit}: there are more; --limit shows more of them, --namespace, --operation, --scope, --status or --older-than fewer"
        ));
    }
    Ok(Outcome::Done)
}

fn status(status: Status) -> StoredStatus {
    match status {
        Status::Claimed => StoredStatus::CLAIMED,
        Status::Completed => StoredStatus::COMPLETED,
        Status::Failed => StoredStatus::FAILED,
        Status::InProgress => StoredStatus::IN_PROGRESS,
        Status::Unknown => StoredStatus::UNKNOWN,
        Status::Released => StoredStatus::RELEASED,
    }
}

/// Returns the status, with what a purge or an operator may do about it.
pub(super) fn status_of(record: &RecordSummary) -> String {
    let more = if record.is_lapsed() {
        " (lapsed)"
    } else if record.is_expired() {
        " (expired)"
    } else {
        ""
    };
    format!("{}{more}", record.status)
}

/// Returns the end of the lease, or of the retention.
fn until(record: &RecordSummary) -> String {
    let until = record.locked_until.or(record.expires_at);
    until.map_or_else(String::new, |until| view::ago(until, record.read_at))
}

/// Returns a record as JSON, without its payloads.
pub(super) fn json_of(record: &RecordSummary) -> Value {
    let key = &record.record_key;
    json!({
        "namespace": key.namespace(),
        "scope": key.scope(),
        "key": key.key(),
        "operation": record.operation,
        "status": record.status.to_string(),
        "lapsed": record.is_lapsed(),
        "expired": record.is_expired(),
        "attempt": record.attempt,
        "attempt_id": record.attempt_id.to_string(),
        "on_lapse": record.on_lapse.map(on_lapse),
        "created_at": json_time(Some(record.created_at)),
        "expires_at": json_time(record.expires_at),
        "locked_until": json_time(record.locked_until),
        "request_bytes": record.request_bytes,
        "result_bytes": record.result_bytes,
        "failure_bytes": record.failure_bytes,
        "external_key": record.external_key(),
    })
}

pub(super) fn on_lapse(policy: OnLapse) -> &'static str {
    match policy {
        OnLapse::Retry => "retry",
        OnLapse::Unknown => "unknown",
    }
}
