//! What becomes of a request by its answer.

use std::time::Duration;

use idem_client::ledger::LedgerState;
use idem_tests::dialect::Dialect as _;
use idem_tests_clients::cases::{CASES, End};

use crate::subject::{Office, Subject};

pub(crate) async fn a_final_refusal_is_recorded_and_set_aside<S: Subject>() {
    let office = Office::<S>::open().await;
    // The key is another order's at the service.
    let with_key = |item: &str, plan: &str| {
        let mut order = office.order(item, plan);
        let value = "\"mixed-up\"".parse().expect("a value");
        order.headers_mut().insert("idempotency-key", value);
        order
    };
    let first = reqwest::Client::new()
        .post(format!("{}/orders", office.town.service))
        .header("idempotency-key", "\"mixed-up\"")
        .header("content-type", "application/json")
        .body(r#"{"item":"tea"}"#)
        .send()
        .await;
    assert_eq!(first.expect("an answer").status(), 201);
    let id = office.enqueue(with_key("coffee", "pass")).await;
    let swept = office.sweep().await;
    assert_eq!((swept.published, swept.retried, swept.dead), (1, 0, 0));
    let entry = office.entry(&id).await;
    let LedgerState::Refused(answer) = entry.state else {
        panic!("not refused: {entry:?}");
    };
    assert_eq!(answer.status, 422);
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!(problem["code"], "mismatch");
    office.sweep_over(2).await;
    assert_eq!(office.town.requests("coffee").len(), 1);
    assert!(
        !office
            .ledger
            .requeue(office.pool(), &id)
            .await
            .expect("an answer")
    );
}

pub(crate) async fn a_lost_answer_is_asked_for_again_with_the_same_key<S: Subject>() {
    let office = Office::<S>::open().await;
    let id = office.enqueue(office.order("lost", "lost,half,lost")).await;
    office.sweep().await;
    let entry = office.entry(&id).await;
    let LedgerState::Open { attempts, error } = entry.state else {
        panic!("not open: {entry:?}");
    };
    assert_eq!(attempts, 1);
    let error = error.expect("an error");
    assert!(error.contains("the outcome is unknown"), "{error}");
    office.subject.pass_time().await;
    office.sweep_over(3).await;
    let entry = office.entry(&id).await;
    let LedgerState::Answered(answer) = entry.state else {
        panic!("not answered: {entry:?}");
    };
    assert_eq!(answer.headers["idempotent-replayed"], "true");
    assert_eq!(office.keys("lost").len(), 1);
    assert_eq!(office.town.effects("lost").await, 1);
}

pub(crate) async fn what_may_pass_is_sent_again_under_every_fault<S: Subject>() {
    let office = Office::<S>::open().await;
    let cases: Vec<_> = CASES
        .iter()
        .filter(|case| case.handshakes == 0 && case.end != End::Refused)
        .collect();
    let mut ids = Vec::new();
    for case in &cases {
        ids.push(office.enqueue(office.order(case.item, case.plan)).await);
    }
    office.sweep_over(9).await;
    for (case, id) in cases.iter().zip(&ids) {
        let entry = office.entry(id).await;
        let LedgerState::Answered(answer) = &entry.state else {
            panic!("{}: {entry:?}", case.item);
        };
        let status = if case.end == End::Followed { 200 } else { 201 };
        assert_eq!(answer.status, status, "{}", case.item);
        assert_eq!(office.keys(case.item).len(), 1, "{}", case.item);
        assert_eq!(office.town.effects(case.item).await, 1, "{}", case.item);
    }
    assert_eq!(office.queued().await, 0);
}

pub(crate) async fn a_request_whose_attempts_are_used_up_is_dead_and_can_be_requeued<S: Subject>() {
    let office = Office::<S>::open().await;
    let id = office
        .enqueue(office.order("dead", "lost,503,500-after"))
        .await;
    for _ in 0..3 {
        let worker = office.worker().max_attempts(3);
        worker.sweep().await.expect("swept");
        office.subject.pass_time().await;
    }
    let entry = office.entry(&id).await;
    let LedgerState::Dead { error } = &entry.state else {
        panic!("not dead: {entry:?}");
    };
    assert_eq!(
        error.as_deref(),
        Some("the service answered 500 Internal Server Error")
    );
    // Nobody sends it by himself.
    office.sweep().await;
    assert_eq!(office.town.requests("dead").len(), 3);
    assert!(
        office
            .ledger
            .requeue(office.pool(), &id)
            .await
            .expect("an answer")
    );
    office.sweep().await;
    let entry = office.entry(&id).await;
    assert!(matches!(entry.state, LedgerState::Answered(_)), "{entry:?}");
    assert_eq!(office.keys("dead").len(), 1);
    assert_eq!(office.town.effects("dead").await, 1);
}

pub(crate) async fn an_answer_that_the_database_refuses_uses_up_an_attempt<S: Subject>() {
    let office = Office::<S>::open().await;
    let id = office.enqueue(office.order("kept-out", "pass")).await;
    let rename = async |from: &str, to: &str| {
        let renamed = format!("ALTER TABLE idem_ledger RENAME COLUMN {from} TO {to}");
        S::Db::run(office.pool(), &renamed).await;
    };
    rename("answer_body", "other").await;
    for _ in 0..2 {
        let worker = office.worker().max_attempts(2);
        worker.sweep().await.expect("swept");
        office.subject.pass_time().await;
    }
    // It is not sent for ever.
    office.sweep().await;
    assert_eq!(office.town.requests("kept-out").len(), 2);
    assert_eq!(office.keys("kept-out").len(), 1);
    rename("other", "answer_body").await;
    let entry = office.entry(&id).await;
    assert!(matches!(entry.state, LedgerState::Dead { .. }), "{entry:?}");
}

pub(crate) async fn a_redirect_to_another_origin_is_dead_and_the_key_stays<S: Subject>() {
    let office = Office::<S>::open().await;
    let id = office.enqueue(office.order("away", "away-307,pass")).await;
    let swept = office.sweep().await;
    assert_eq!((swept.dead, swept.retried), (1, 0));
    let entry = office.entry(&id).await;
    let LedgerState::Dead { error } = &entry.state else {
        panic!("not dead: {entry:?}");
    };
    assert!(
        error
            .as_deref()
            .is_some_and(|error| error.contains("another origin"))
    );
    assert!(
        office
            .ledger
            .requeue(office.pool(), &id)
            .await
            .expect("an answer")
    );
    office.sweep().await;
    assert_eq!(office.town.effects("away").await, 1);
}

pub(crate) async fn settled_requests_are_purged_and_open_ones_stay<S: Subject>() {
    let office = Office::<S>::open().await;
    let answered = office.enqueue(office.order("answered", "pass")).await;
    let open = office.enqueue(office.order("open", "503")).await;
    office.sweep().await;
    let purge = async |retention| {
        let purged = office.ledger.purge(office.pool(), retention).await;
        purged.expect("purged")
    };
    assert_eq!(purge(Duration::from_hours(1)).await, 0);
    let aged = format!(
        "UPDATE idem_ledger SET settled_at = settled_at - {} - {} WHERE state <> 0",
        S::Db::HOUR,
        S::Db::HOUR
    );
    S::Db::run(office.pool(), &aged).await;
    assert_eq!(purge(Duration::from_hours(1)).await, 1);
    let entry = office.ledger.entry(office.pool(), &answered).await;
    assert!(entry.expect("an answer").is_none());
    assert!(matches!(
        office.entry(&open).await.state,
        LedgerState::Open { .. }
    ));
}
