//! The results that every session must give whatever its settings: the part that is the same on
//! every database.

use std::time::{Duration, SystemTime};

use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::record::Timestamp;
use idem_runtime::store::{LeaseSession, Outcome, RawStore, Store};
use idem_runtime::{Error, IdempotencyKey, Namespace};
use serde_json::json;

/// Returns the store of the payments without an operation.
pub fn store() -> RawStore {
    Store::new(Namespace::from_static("payments"))
}

/// Claims a lease, extends it, ends it and replays it; leaves another unknown, finds it and settles
/// it.
///
/// # Panics
///
/// Panics if any result differs from that of a session with default settings.
pub async fn keep_leases<S: LeaseSession>(
    conn: &mut S,
    [done, lost]: [&IdempotencyKey; 2],
    setting: &str,
) {
    let store = store();
    let lease_policy = Lease::new(Duration::from_mins(5), OnLapse::Unknown).expect("within bounds");
    let mut bound = store.in_connection(conn);
    let claimed = bound
        .begin_leased(done, "mail", &json!({"to": "é"}), lease_policy)
        .await;
    let Ok(Outcome::Fresh(lease)) = claimed else {
        panic!("{setting}: {claimed:?}");
    };
    bound.extend(&lease).await.expect(setting);
    let record = bound.get(done).await.expect(setting).expect(setting);
    expect_now(record.created_at, setting);
    let until = record.locked_until.expect(setting);
    assert!(
        until.since(record.created_at) >= Duration::from_secs(299),
        "{setting}"
    );
    let result = json!({"sent": "\u{0}é", "n": 1.5});
    bound.complete(&lease, &result).await.expect(setting);
    match bound
        .begin_leased(done, "mail", &json!({"to": "é"}), lease_policy)
        .await
    {
        Ok(Outcome::PriorResult { value }) => assert_eq!(value, result, "{setting}"),
        other => panic!("{setting}: {other:?}"),
    }
    let claimed = bound
        .begin_leased(lost, "mail", &json!(2), lease_policy)
        .await;
    let Ok(Outcome::Fresh(lease)) = claimed else {
        panic!("{setting}: {claimed:?}");
    };
    bound.leave_unknown(&lease).await.expect(setting);
    let again = bound
        .begin_leased(lost, "mail", &json!(2), lease_policy)
        .await;
    assert!(
        matches!(again, Err(Error::OutcomeUnknown { .. })),
        "{setting}: {again:?}"
    );
    assert_eq!(bound.count_unknown().await.expect(setting), 1, "{setting}");
    let found = bound.list_unknown(10, None).await.expect(setting);
    let [unknown] = found.as_slice() else {
        panic!("{setting}: {found:?}");
    };
    assert_eq!(unknown.key(), *lost, "{setting}");
    assert_eq!(unknown.request(), Some(b"2".as_slice()), "{setting}");
    bound
        .resolve_completed(unknown, &json!(3))
        .await
        .expect(setting);
    match bound
        .begin_leased(lost, "mail", &json!(2), lease_policy)
        .await
    {
        Ok(Outcome::PriorResult { value }) => assert_eq!(value, json!(3), "{setting}"),
        other => panic!("{setting}: {other:?}"),
    }
    assert_eq!(bound.lapse_overdue("mail", 10).await.expect(setting), 0);
}

/// Asserts that a time is this machine's, within an hour.
///
/// # Panics
///
/// Panics if it is not.
pub fn expect_now(time: Timestamp, setting: &str) {
    let hour = Duration::from_hours(1);
    let (now, time) = (SystemTime::now(), SystemTime::from(time));
    assert!(
        time > now - hour && time < now + hour,
        "{setting}: {time:?}"
    );
}
