//! What a recorder is told, and when.

use std::collections::BTreeSet;

use idem_runtime::Operation;
use sqlx::Transaction;

use crate::fixture::Fixture;
use crate::{CallError, key, record, recorded};

const PAY: Operation = Operation::new("payments", "pay_late");

/// A key that no label may hold.
const SECRET: &str = "order-of-ada-4815162342";

async fn pay<P: Fixture>(fixture: &P, request: i64) -> Result<i64, CallError> {
    let body = async |_: &mut Transaction<'_, P::Db>| Ok::<_, CallError>(5);
    let paid = PAY.run(&fixture.pool(), &key(SECRET), &request, body).await;
    paid.map(idem_runtime::Replayable::into_inner)
}

pub(crate) async fn a_recorder_that_comes_later_counts_from_then_on<P: Fixture>() {
    let fixture = P::open().await;
    pay(&fixture, 1).await.expect("it ran");
    for _ in 0..2 {
        // The second recorder may have the address of the first.
        let recorded = recorded();
        let guard = record(&recorded);
        pay(&fixture, 1).await.expect("it is replayed");
        recorded.expect("idempotency_replayed_total", &[], 1);
        recorded.expect("idempotency_finished_total", &[], 1);
        drop(guard);
        pay(&fixture, 1).await.expect("it is replayed");
        recorded.expect("idempotency_finished_total", &[], 1);
    }
}

pub(crate) async fn no_label_holds_a_key_and_all_are_of_a_closed_set<P: Fixture>() {
    let (fixture, recorded) = (P::open().await, recorded());
    let _guard = record(&recorded);
    pay(&fixture, 1).await.expect("it ran");
    pay(&fixture, 1).await.expect("it is replayed");
    pay(&fixture, 2).await.expect_err("another request");
    let text = recorded.text();
    assert!(text.contains("idempotency_conflict_total"), "{text}");
    assert!(!text.contains(SECRET) && !text.contains("ada"), "{text}");
    let labels: BTreeSet<_> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('{')?.1.split_once('}'))
        .flat_map(|(labels, _)| labels.split(','))
        .filter_map(|label| label.split_once('='))
        .map(|(name, _)| name)
        .collect();
    let known = ["kind", "le", "namespace", "operation", "outcome", "step"];
    assert_eq!(labels, BTreeSet::from(known));
}
