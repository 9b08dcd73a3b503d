//! `idem stats`.

use idem_runtime::operate::{Count, OperateBackend, Operator, Stats};
use serde_json::{Value, json};

use crate::fault::{Fault, Outcome};
use crate::view::{self, json_time, print_json, print_table};

pub(super) async fn run<DB: OperateBackend>(
    operator: &Operator<DB>,
    is_json: bool,
) -> Result<Outcome, Fault> {
    print(&operator.stats().await?, is_json);
    Ok(Outcome::Done)
}

/// Prints counts.
pub(super) fn print(stats: &Stats, is_json: bool) {
    if is_json {
        print_json(&json(stats));
        return;
    }
    let rows = stats.counts.iter().map(|count| {
        let age = |at: Option<_>| at.map_or_else(String::new, |at| view::ago(at, stats.read_at));
        [
            count.namespace.clone(),
            count.operation.clone(),
            count.status.to_string(),
            count.records.to_string(),
            count.lapsed.to_string(),
            count.expired.to_string(),
            count.payload_bytes.to_string(),
            age(count.oldest),
            age(count.newest),
        ]
    });
    let header = [
        "NAMESPACE",
        "OPERATION",
        "STATUS",
        "RECORDS",
        "LAPSED",
        "EXPIRED",
        "BYTES",
        "OLDEST",
        "NEWEST",
    ];
    print_table(header, rows, "no record");
}

/// Returns counts as JSON.
pub(super) fn json(stats: &Stats) -> Value {
    let counts = stats.counts.iter().map(json_of).collect::<Value>();
    json!({ "read_at": json_time(Some(stats.read_at)), "counts": counts })
}

fn json_of(count: &Count) -> Value {
    json!({
        "namespace": count.namespace,
        "operation": count.operation,
        "status": count.status.to_string(),
        "records": count.records,
        "lapsed": count.lapsed,
        "expired": count.expired,
        "held": count.held,
        "payload_bytes": count.payload_bytes,
        "oldest": json_time(count.oldest),
        "newest": json_time(count.newest),
    })
}
