//! What changes one record: resolve and release.

use idem_runtime::policy::OnLapse;
use idem_runtime::store::Outcome;
use idem_runtime::{Error, StoredFailure};
use serde_json::json;

use crate::program::{idem, signed};
use crate::story::{ORDER, audited, begin, complete, completed, count, lease, unknown};
use crate::subject::Subject;

const COMPLETED: [&str; 2] = ["--result", r#" {"charge": "ch_17"} "#];

async fn resolve<S: Subject>(subject: &S, how: &str, args: &[&str]) -> crate::program::Answer {
    signed(subject, &[&["resolve", how], &ORDER[..], args].concat()).await
}

pub(crate) async fn an_unknown_outcome_is_resolved_as_completed<S: Subject>() {
    let subject = S::fresh().await;
    let owner = unknown(&subject, "order-17").await;
    let answer = resolve(&subject, "completed", &COMPLETED).await.done();
    assert_eq!(
        answer.out,
        "resolved: it happened; every retry replays this result.\n"
    );
    match begin(&subject, "order-17", OnLapse::Unknown).await {
        Ok(Outcome::PriorResult { value }) => assert_eq!(value, json!({ "charge": "ch_17" })),
        other => panic!("{other:?}"),
    }
    let late = complete(&subject, &owner, &json!("late")).await;
    assert!(matches!(late, Err(Error::LeaseLost)), "{late:?}");
}

pub(crate) async fn an_unknown_outcome_is_resolved_as_failed<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    let failure = [
        "--class",
        "Declined",
        "--message",
        "no funds",
        "--data",
        r#"{"code":51}"#,
    ];
    resolve(&subject, "failed", &failure).await.done();
    let expected = StoredFailure::new("Declined", "no funds").with_data(json!({ "code": 51 }));
    match begin(&subject, "order-17", OnLapse::Unknown).await {
        Ok(Outcome::PriorError { error }) => assert_eq!(error, expected),
        other => panic!("{other:?}"),
    }
}

/// A build that knows version 1 alone does not take what was resolved in version 2 for its own.
pub(crate) async fn a_resolution_has_the_version_that_is_said<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    let args = [&COMPLETED[..], &["--result-version", "2"]].concat();
    resolve(&subject, "completed", &args).await.done();
    match begin(&subject, "order-17", OnLapse::Unknown).await {
        Err(Error::IncompatibleState {
            version: Some(version),
            ..
        }) => assert_eq!((version.recorded, version.newest), (2, 1)),
        other => panic!("{other:?}"),
    }
    let shown = [&["show"], &ORDER[..], &["--reveal", "--json"]].concat();
    let shown = idem(&subject, &shown).await;
    let shown = shown.done().json();
    assert_eq!(shown["payload_version"], 2);
    assert_eq!(shown["result"], r#"{"charge": "ch_17"}"#);

    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    let failure = ["--class", "Declined", "--message", "no funds"];
    let zero = [&failure[..], &["--failure-version", "0"]].concat();
    resolve(&subject, "failed", &zero).await.refused(2, "");
    let args = [&failure[..], &["--failure-version", "3"]].concat();
    resolve(&subject, "failed", &args).await.done();
    let refused = begin(&subject, "order-17", OnLapse::Unknown).await;
    assert!(
        matches!(refused, Err(Error::IncompatibleState { .. })),
        "{refused:?}"
    );
}

pub(crate) async fn an_outcome_that_never_happened_is_the_next_callers<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    resolve(&subject, "never-happened", &[]).await.done();
    assert_eq!(
        lease(&subject, "order-17", OnLapse::Unknown).await.number(),
        2
    );
}

pub(crate) async fn a_lease_that_lapsed_unseen_is_resolved_too<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = lease(&subject, "order-17", OnLapse::Unknown).await;
    resolve(&subject, "completed", &COMPLETED)
        .await
        .refused(1, "the lease of the record ends within");
    subject.lapse().await;
    resolve(&subject, "completed", &COMPLETED).await.done();
    assert_eq!(count(&subject, 1).await, 1);
    // Under the other policy the next caller runs the body: there is nothing to resolve.
    let _owner = lease(&subject, "order-18", OnLapse::Retry).await;
    subject.lapse().await;
    let name = [
        "resolve",
        "never-happened",
        "payments",
        "order-18",
        "--scope",
        "customer-42",
    ];
    signed(&subject, &name)
        .await
        .refused(1, "may run again after a lapse");
}

pub(crate) async fn what_is_resolved_is_not_resolved_again<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    resolve(&subject, "completed", &COMPLETED).await.done();
    let again = resolve(&subject, "never-happened", &[]).await;
    again.refused(
        1,
        "the record is completed, and only an unknown outcome can be resolved",
    );
    assert_eq!((count(&subject, 1).await, audited(&subject).await), (1, 1));
}

pub(crate) async fn a_lapsed_lease_is_released_and_its_owner_has_lost_it<S: Subject>() {
    for on_lapse in [OnLapse::Retry, OnLapse::Unknown] {
        let subject = S::fresh().await;
        let owner = lease(&subject, "order-17", on_lapse).await;
        subject.lapse().await;
        let answer = signed(&subject, &[&["release"], &ORDER[..]].concat())
            .await
            .done();
        assert_eq!(answer.out, "released: the next caller runs the body.\n");
        let late = complete(&subject, &owner, &json!("late")).await;
        assert!(matches!(late, Err(Error::LeaseLost)), "{late:?}");
        assert_eq!(lease(&subject, "order-17", on_lapse).await.number(), 2);
    }
}

pub(crate) async fn neither_a_live_lease_nor_a_result_is_released<S: Subject>() {
    let subject = S::fresh().await;
    let release = ["release"];
    let _owner = lease(&subject, "order-17", OnLapse::Retry).await;
    let live = signed(&subject, &[&release, &ORDER[..]].concat()).await;
    live.refused(1, "its attempt may be at work");
    completed(&subject, "done").await;
    let name = ["release", "payments", "done", "--scope", "customer-42"];
    signed(&subject, &name)
        .await
        .refused(1, "the record is completed, and only a lapsed lease");
    assert_eq!((count(&subject, 3).await, count(&subject, 1).await), (1, 1));
    assert_eq!(audited(&subject).await, 0);
}
