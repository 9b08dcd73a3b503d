//! Unknown outcomes: listed, settled by compare-and-swap, and closed to the late attempt.

use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::record::Status;
use idem_runtime::store::{LeaseSession, Outcome, StoreLease, Unknown};
use idem_runtime::{Error, Scope, StoredFailure};
use serde_json::json;

use crate::subject::{
    LeaseSubject, PAY, RETENTION, ask_lease, expect_replay, key, lease, lease_under, read, store,
};

/// An unknown outcome, its late owner, and the entry that a reconciler reads.
async fn unknown<S: LeaseSubject>(subject: &S, conn: &mut S::Conn) -> (StoreLease, Unknown) {
    let owner = lease(conn, OnLapse::Unknown).await;
    subject.lapse().await;
    let reported = ask_lease(conn, OnLapse::Unknown).await;
    assert!(
        matches!(reported, Err(Error::OutcomeUnknown { .. })),
        "{reported:?}"
    );
    let unknown = look_up(conn).await.expect("it is unknown");
    (owner, unknown)
}

async fn look_up<C: LeaseSession>(conn: &mut C) -> Option<Unknown> {
    let store = store();
    let mut bound = store.in_connection(conn);
    bound.look_up(&key("k")).await.expect("it can be read")
}

pub(crate) async fn an_unknown_outcome_tells_what_a_provider_is_asked_with<S: LeaseSubject>() {
    let subject = S::fresh().await;
    let mut conn = subject.connect().await;
    assert!(look_up(&mut conn).await.is_none());
    let (owner, unknown) = unknown(&subject, &mut conn).await;
    assert_eq!(unknown.key(), key("k"));
    assert_eq!(unknown.operation(), PAY);
    assert_eq!(unknown.attempt_id(), owner.attempt_id());
    assert_eq!(unknown.number(), 1);
    assert_eq!(unknown.external_key(), owner.external_key());
    assert_ne!(unknown.external_key_for("capture"), owner.external_key());
    assert_eq!(unknown.decode_request::<u64>().unwrap(), Some(1));
    assert!(unknown.locked_until() >= Some(unknown.claimed_at()));
}

pub(crate) async fn an_outcome_found_to_have_happened_replays<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let (_, unknown) = unknown(&subject, &mut conn).await;
    let mut bound = store.in_connection(&mut conn);
    // Repeated, as after a lost answer.
    for _ in 0..2 {
        bound.resolve_completed(&unknown, &json!(7)).await.unwrap();
    }
    expect_replay(&store, &mut conn, &key("k"), &json!(1), &json!(7)).await;
    assert!(look_up(&mut conn).await.is_none());
}

pub(crate) async fn an_outcome_found_to_have_failed_replays_its_failure<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let (_, unknown) = unknown(&subject, &mut conn).await;
    let failure = StoredFailure::new("Bounced", "no such mailbox");
    let mut bound = store.in_connection(&mut conn);
    bound.resolve_failed(&unknown, &failure).await.unwrap();
    match ask_lease(&mut conn, OnLapse::Unknown).await {
        Ok(Outcome::PriorError { error }) => assert_eq!(error, failure),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn an_outcome_that_never_happened_is_the_next_callers<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let (_, unknown) = unknown(&subject, &mut conn).await;
    let mut bound = store.in_connection(&mut conn);
    bound.resolve_never_happened(&unknown).await.unwrap();
    let next = lease(&mut conn, OnLapse::Unknown).await;
    assert_eq!(next.number(), 2);
    // The entry that the reconciler read is outdated.
    let mut bound = store.in_connection(&mut conn);
    let again = bound.resolve_completed(&unknown, &json!(7)).await;
    assert!(matches!(again, Err(Error::LeaseLost)), "{again:?}");
    assert_eq!(read(&mut conn).await.attempt_id, next.attempt_id());
}

pub(crate) async fn a_late_owner_wins_over_the_reconciler_that_looked_before<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let (owner, unknown) = unknown(&subject, &mut conn).await;
    let mut bound = store.in_connection(&mut conn);
    bound.complete(&owner, &json!("late")).await.unwrap();
    let failure = StoredFailure::new("Bounced", "no");
    for settled in [
        bound.resolve_completed(&unknown, &json!(7)).await,
        bound.resolve_failed(&unknown, &failure).await,
        bound.resolve_never_happened(&unknown).await,
    ] {
        assert!(matches!(settled, Err(Error::LeaseLost)), "{settled:?}");
    }
    expect_replay(&store, &mut conn, &key("k"), &json!(1), &json!("late")).await;
}

pub(crate) async fn after_reconciliation_the_late_owner_has_lost<S: LeaseSubject>() {
    let store = store();
    for to in [Status::Completed, Status::Failed, Status::Released] {
        let subject = S::fresh().await;
        let mut conn = subject.connect().await;
        let (owner, unknown) = unknown(&subject, &mut conn).await;
        let failure = StoredFailure::new("Bounced", "no");
        let mut bound = store.in_connection(&mut conn);
        match to {
            Status::Completed => bound.resolve_completed(&unknown, &json!(7)).await,
            Status::Failed => bound.resolve_failed(&unknown, &failure).await,
            _ => bound.resolve_never_happened(&unknown).await,
        }
        .unwrap();
        for late in [
            bound.extend(&owner).await,
            bound.complete(&owner, &json!("late")).await.map(drop),
            bound.fail(&owner, &failure).await,
            bound.release_lease(&owner).await,
            bound.leave_unknown(&owner).await,
        ] {
            assert!(
                matches!(late, Err(Error::LeaseLost)),
                "over {to:?}: {late:?}"
            );
        }
        let found = read(&mut conn).await;
        assert_eq!(found.status, to);
        assert_ne!(found.attempt_id, owner.attempt_id());
    }
}

pub(crate) async fn one_of_two_reconcilers_settles<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let (_, first) = unknown(&subject, &mut conn).await;
    let second = look_up(&mut conn).await.expect("it is unknown");
    let mut bound = store.in_connection(&mut conn);
    bound.resolve_completed(&first, &json!(1)).await.unwrap();
    // The same outcome from a different reconciler is refused: it may have meant another result.
    let late = bound.resolve_completed(&second, &json!(2)).await;
    assert!(matches!(late, Err(Error::LeaseLost)), "{late:?}");
    expect_replay(&store, &mut conn, &key("k"), &json!(1), &json!(1)).await;
}

pub(crate) async fn an_outcome_settled_one_way_is_not_settled_another<S: LeaseSubject>() {
    let store = store();
    let failure = |message: &str| StoredFailure::new("Bounced", message);
    let subject = S::fresh().await;
    let mut conn = subject.connect().await;
    let (_, observed) = unknown(&subject, &mut conn).await;
    let mut bound = store.in_connection(&mut conn);
    bound.resolve_completed(&observed, &json!(1)).await.unwrap();
    for other in [
        bound.resolve_completed(&observed, &json!(2)).await,
        bound.resolve_failed(&observed, &failure("no")).await,
        bound.resolve_never_happened(&observed).await,
    ] {
        assert!(matches!(other, Err(Error::LeaseLost)), "{other:?}");
    }
    expect_replay(&store, &mut conn, &key("k"), &json!(1), &json!(1)).await;
    subject.clear().await;
    let (_, observed) = unknown(&subject, &mut conn).await;
    let mut bound = store.in_connection(&mut conn);
    for _ in 0..2 {
        bound
            .resolve_failed(&observed, &failure("no"))
            .await
            .unwrap();
    }
    let other = bound.resolve_failed(&observed, &failure("never")).await;
    assert!(matches!(other, Err(Error::LeaseLost)), "{other:?}");
    subject.clear().await;
    let (_, observed) = unknown(&subject, &mut conn).await;
    let mut bound = store.in_connection(&mut conn);
    for _ in 0..2 {
        bound.resolve_never_happened(&observed).await.unwrap();
    }
    assert_eq!(read(&mut conn).await.status, Status::Released);
}

pub(crate) async fn unknown_outcomes_are_listed_page_by_page_oldest_lapse_first<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let names = ["c", "a", "b", "d", "e"];
    for (at, name) in names.into_iter().enumerate() {
        let scope = Scope::new("acme").unwrap();
        let key = match name {
            "d" => key(name).scoped(scope),
            _ => key(name),
        };
        let mut bound = store.in_connection(&mut conn);
        let outcome = bound
            .begin_leased(&key, PAY, &json!(name), lease_under(OnLapse::Unknown))
            .await;
        let Ok(Outcome::Fresh(held)) = outcome else {
            panic!("{outcome:?}");
        };
        // The last two leases end at the same time: scope and key determine their order.
        let at = i64::try_from(at.min(3)).unwrap();
        subject.end_leases_in(at * 1_000_000 - 60_000_000).await;
        let mut bound = store.in_connection(&mut conn);
        bound.leave_unknown(&held).await.unwrap();
    }
    subject.same_end(&["d", "e"]).await;
    // Records that are not unknown are not listed.
    let _live = lease(&mut conn, OnLapse::Unknown).await;
    let mut bound = store.in_connection(&mut conn);
    let mut listed = Vec::new();
    let mut last = None;
    loop {
        let page = bound.list_unknown(2, last.as_ref()).await.unwrap();
        assert!(page.len() <= 2);
        let Some(end) = page.last() else { break };
        last = Some(end.clone());
        listed.extend(page);
        assert!(listed.len() <= 5, "a page begins where the last one began");
    }
    let found: Vec<_> = listed
        .iter()
        .map(|one| one.decode_request::<String>().unwrap().unwrap())
        .collect();
    assert_eq!(found, ["c", "a", "b", "e", "d"]);
    assert_eq!(
        listed[4].key().scope().map(Scope::as_str),
        Some("acme"),
        "the empty scope comes first"
    );
    for one in &listed {
        bound.resolve_never_happened(one).await.unwrap();
    }
    assert!(bound.list_unknown(10, None).await.unwrap().is_empty());
}

pub(crate) async fn a_lapse_that_nobody_saw_is_found_by_asking_for_it<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let owner = lease(&mut conn, OnLapse::Unknown).await;
    let mut bound = store.in_connection(&mut conn);
    assert_eq!(bound.lapse_overdue(PAY, 10).await.unwrap(), 0);
    subject.lapse().await;
    assert_eq!(bound.lapse_overdue("refund", 10).await.unwrap(), 0);
    assert_eq!(bound.lapse_overdue(PAY, 0).await.unwrap(), 0);
    assert!(bound.list_unknown(10, None).await.unwrap().is_empty());
    assert_eq!(bound.lapse_overdue(PAY, 10).await.unwrap(), 1);
    let listed = bound.list_unknown(10, None).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].attempt_id(), owner.attempt_id());
    assert_eq!(bound.lapse_overdue(PAY, 10).await.unwrap(), 0);
}

pub(crate) async fn a_lapse_that_nobody_saw_is_released_where_the_operation_is_safe_to_repeat<
    S: LeaseSubject,
>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let owner = lease(&mut conn, OnLapse::Retry).await;
    let mut bound = store.in_connection(&mut conn);
    let none = bound.lapse_overdue(PAY, 10).await.unwrap();
    assert_eq!(none, 0);
    subject.lapse().await;
    let freed = bound.lapse_overdue(PAY, 10).await.unwrap();
    assert_eq!(freed, 1);
    assert!(bound.list_unknown(10, None).await.unwrap().is_empty());
    let found = read(&mut conn).await;
    assert_eq!((found.status, found.attempt), (Status::Released, 1));
    assert_eq!(found.locked_until, None);
    // It no longer belongs to its attempt, which may still be waiting for the answer to its claim.
    assert_ne!(found.attempt_id, owner.attempt_id());
    let kept = found.expires_at.expect("what is released expires");
    assert!(kept.since(subject.now().await) <= RETENTION);
    // Its owner is late, and another attempt owns the key.
    let mut bound = store.in_connection(&mut conn);
    let late = bound.complete(&owner, &json!("late")).await;
    assert!(matches!(late, Err(Error::LeaseLost)), "{late:?}");
    assert_eq!(lease(&mut conn, OnLapse::Retry).await.number(), 2);
    subject.clear().await;
    let _owner = lease(&mut conn, OnLapse::Retry).await;
    subject.lapse().await;
    let mut bound = store.in_connection(&mut conn);
    bound.lapse_overdue(PAY, 10).await.unwrap();
    subject.age(RETENTION * 2).await;
    let mut bound = store.in_connection(&mut conn);
    assert_eq!(bound.purge_expired(10).await.unwrap(), 1);
}

pub(crate) async fn unknown_outcomes_are_counted_and_leave_by_time_only_where_somebody_says_so<
    S: LeaseSubject,
>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let mut bound = store.in_connection(&mut conn);
    assert_eq!(bound.count_unknown().await.unwrap(), 0);
    for name in ["a", "b", "c"] {
        let mut bound = store.in_connection(&mut conn);
        let outcome = bound
            .begin_leased(&key(name), PAY, &json!(1), lease_under(OnLapse::Unknown))
            .await;
        let Ok(Outcome::Fresh(held)) = outcome else {
            panic!("{outcome:?}");
        };
        // The lease of the last one ends in an hour.
        let left = if name == "c" { 3_600 } else { -3_600 };
        subject.end_leases_in(left * 1_000_000).await;
        let mut bound = store.in_connection(&mut conn);
        bound.leave_unknown(&held).await.unwrap();
    }
    let live = lease(&mut conn, OnLapse::Unknown).await;
    subject.age(RETENTION * 100).await;
    subject.end_leases_in(-3_600_000_000).await;
    let mut bound = store.in_connection(&mut conn);
    assert_eq!(bound.count_unknown().await.unwrap(), 3);
    assert_eq!(bound.purge_expired(10).await.unwrap(), 0);
    let two_hours = Duration::from_hours(2);
    assert_eq!(bound.purge_unknown(two_hours, 10).await.unwrap(), 0);
    let minute = Duration::from_mins(1);
    assert_eq!(bound.purge_unknown(minute, 1).await.unwrap(), 1);
    assert_eq!(bound.purge_unknown(minute, 10).await.unwrap(), 1);
    assert_eq!(bound.count_unknown().await.unwrap(), 1);
    let listed = bound.list_unknown(10, None).await.unwrap();
    assert_eq!(listed[0].key().as_str(), "c");
    // A lease is not an unknown outcome, however long ago it lapsed.
    let found = read(&mut conn).await;
    assert_eq!(found.attempt_id, live.attempt_id());
}
