//! The worker that deletes expired records.

mod mysql;
mod postgres;
mod sqlite;

use idem_runtime::store::{Outcome, RawStore, Session, Store};
use idem_runtime::{Error, IdempotencyKey, Namespace, Purged};
use idem_tests::patience::in_time;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// Returns the key of the test's record number `n`.
fn key(n: u32) -> IdempotencyKey {
    let key: IdempotencyKey = format!("k{n}").parse().expect("an acceptable key");
    key.global()
}

fn store() -> RawStore {
    Store::new(Namespace::from_static("purge"))
}

/// Sends each report to the test that waits for it.
fn to(reports: UnboundedSender<String>) -> impl Fn(&Result<Purged, Error>) + Send + Sync + 'static {
    move |result| {
        let line = match result {
            Ok(purged) => format!("{} rows", purged.rows),
            Err(error) => error.to_string(),
        };
        // The test may have stopped listening.
        let _ = reports.send(line);
    }
}

/// Waits for a report that contains this text; skips others.
async fn until(reports: &mut UnboundedReceiver<String>, part: &str) {
    let reported = async {
        loop {
            let report = reports.recv().await.expect("the worker runs");
            if report.contains(part) {
                return;
            }
        }
    };
    in_time(&format!("no report contains {part:?}"), reported).await;
}

async fn replays<S: Session>(conn: &mut S, n: u32) -> bool {
    let store = store();
    let mut bound = store.in_connection(conn);
    let outcome = bound.begin(&key(n), "test", &json!(1)).await;
    matches!(outcome, Ok(Outcome::PriorResult { .. }))
}
