//! Requests that are too large to store.

use idem_runtime::Error;
use idem_runtime::policy::OnLapse;
use idem_runtime::store::Outcome;
use serde_json::{Value, json};

use crate::subject::{LeaseSubject, PAY, key, lease_under, read, record, store};

/// The canonical text of `kept` has exactly this many bytes, and that of `lost` one more.
const LIMIT: usize = 16;

fn kept() -> Value {
    json!("x".repeat(LIMIT - 2))
}

fn lost() -> Value {
    json!("x".repeat(LIMIT - 1))
}

pub(crate) async fn a_request_that_is_too_large_is_kept_as_its_hash_alone_and_never_cut<
    S: LeaseSubject,
>() {
    let store = store().request_limit(LIMIT);
    for (request, is_kept) in [(kept(), true), (lost(), false)] {
        let subject = S::fresh().await;
        let mut conn = subject.connect().await;
        let mut bound = store.in_connection(&mut conn);
        let outcome = bound
            .begin_leased(&key("k"), PAY, &request, lease_under(OnLapse::Unknown))
            .await;
        let Ok(Outcome::Fresh(held)) = outcome else {
            panic!("{outcome:?}");
        };
        let found = read(&mut conn).await;
        assert_eq!(found.request.is_some(), is_kept);
        assert_eq!(found.request_too_large, !is_kept);
        assert!(found.fingerprint.is_some());
        assert_eq!(subject.view().await, (is_kept, !is_kept));
        // The request is still compared, and the mismatch contains the hashes.
        let mut bound = store.in_connection(&mut conn);
        let other = bound
            .begin_leased(&key("k"), PAY, &json!(1), lease_under(OnLapse::Unknown))
            .await;
        let Ok(Outcome::Mismatch(mismatch)) = other else {
            panic!("{other:?}");
        };
        assert_eq!(mismatch.recorded_request.is_some(), is_kept);
        assert_eq!(mismatch.recorded_request_too_large, !is_kept);
        bound.leave_unknown(&held).await.unwrap();
        let same = bound
            .begin_leased(&key("k"), PAY, &request, lease_under(OnLapse::Unknown))
            .await;
        assert!(
            matches!(same, Err(Error::OutcomeUnknown { .. })),
            "{same:?}"
        );
        let unknown = bound.look_up(&key("k")).await.unwrap().expect("it is");
        assert_eq!(unknown.request().is_some(), is_kept);
        assert_eq!(unknown.request_too_large(), !is_kept);
        assert_eq!(unknown.external_key(), held.external_key());
        let listed = bound.list_unknown(10, None).await.unwrap();
        assert_eq!(listed[0].request_too_large(), !is_kept);
    }
}

pub(crate) async fn an_atomic_record_keeps_no_request_that_is_too_large_either<S: LeaseSubject>() {
    let store = store().record_request().request_limit(LIMIT);
    for (request, is_kept) in [(kept(), true), (lost(), false)] {
        let subject = S::fresh().await;
        let mut conn = subject.connect().await;
        record::<S, _, _>(&store, &mut conn, &key("k"), &request, &json!(1)).await;
        let found = read(&mut conn).await;
        assert_eq!(found.request.is_some(), is_kept);
        assert_eq!(found.request_too_large, !is_kept);
        let mut bound = store.in_connection(&mut conn);
        let same = bound.begin(&key("k"), PAY, &request).await;
        assert!(matches!(same, Ok(Outcome::PriorResult { .. })), "{same:?}");
        let other = bound.begin(&key("k"), PAY, &json!(1)).await;
        let Ok(Outcome::Mismatch(mismatch)) = other else {
            panic!("{other:?}");
        };
        assert_eq!(mismatch.recorded_request_too_large, !is_kept);
    }
}
