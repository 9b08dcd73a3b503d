//! Tests of the answers to requests, and of the stored data after them.

use crate::desk::{Answer, Desk};
use reqwest::StatusCode;
use serde_json::{Value, json};

fn row_counts(tables: &Value) -> [usize; 5] {
    [
        "escalation",
        "audit_fact",
        "outbox",
        "idem_record",
        "case_file",
    ]
    .map(|table| tables[table].as_array().expect("rows").len())
}

#[tokio::test]
async fn one_key_twice_is_one_escalation_and_the_same_answer() {
    let desk = Desk::open().await;
    let first = desk.escalate("k1", "481", 17, "third breach").await;
    assert_eq!(first.status, StatusCode::CREATED);
    assert_eq!(first.header("location"), Some("/cases/481/escalations/1"));
    assert_eq!(first.header("idempotent-replayed"), None);
    let again = desk.escalate("k1", "481", 17, "third breach").await;
    assert_eq!(again.status, StatusCode::CREATED);
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.body, first.body);
    let tables = desk.tables().await;
    assert_eq!(row_counts(&tables), [1, 1, 1, 1, 2]);
    let file = &tables["case_file"][0];
    assert_eq!(
        file,
        &json!({ "id": "481", "version": 18, "state": "escalated" })
    );
}

#[tokio::test]
async fn one_key_at_the_same_time_is_one_escalation() {
    let desk = Desk::open().await;
    let call = || desk.escalate("k1", "481", 17, "third breach");
    let (one, two, three, four) = tokio::join!(call(), call(), call(), call());
    let answers = [one, two, three, four];
    let firsts = |answer: &&Answer| {
        answer.status == StatusCode::CREATED && answer.header("idempotent-replayed").is_none()
    };
    assert_eq!(answers.iter().filter(firsts).count(), 1, "{answers:?}");
    for other in answers.iter().filter(|answer| !firsts(answer)) {
        let replayed = other.status == StatusCode::CREATED;
        assert!(replayed || other.code() == "in-flight", "{other:?}");
    }
    assert_eq!(row_counts(&desk.tables().await), [1, 1, 1, 1, 2]);
}

#[tokio::test]
async fn another_reason_under_the_same_key_is_a_mismatch() {
    let desk = Desk::open().await;
    desk.escalate("k1", "481", 17, "third breach").await;
    let other = desk.escalate("k1", "481", 17, "fraud").await;
    assert_eq!(other.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(other.code(), "mismatch");
    let elsewhere = desk.escalate("k1", "482", 17, "third breach").await;
    assert_eq!(elsewhere.code(), "mismatch");
    assert_eq!(row_counts(&desk.tables().await), [1, 1, 1, 1, 2]);
}

#[tokio::test]
async fn another_key_for_the_same_version_meets_the_rule_of_the_business() {
    let desk = Desk::open().await;
    desk.escalate("k1", "481", 17, "third breach").await;
    let other = desk.escalate("k2", "481", 17, "third breach").await;
    assert_eq!(other.status, StatusCode::CONFLICT);
    assert_eq!(other.code(), "already-escalated");
    // Refused for good: the refusal is recorded, and a retry gets the same.
    let again = desk.escalate("k2", "481", 17, "third breach").await;
    assert_eq!((again.status, &again.body), (other.status, &other.body));
    assert_eq!(other.header("idempotent-replayed"), None);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let tables = desk.tables().await;
    assert_eq!(row_counts(&tables), [1, 1, 1, 2, 2]);
    assert_eq!(tables["idem_record"][1]["status"], "failed");
    // The next version may be escalated.
    let next = desk.escalate("k3", "481", 18, "third breach").await;
    assert_eq!(next.header("location"), Some("/cases/481/escalations/2"));
}

#[tokio::test]
async fn what_may_change_is_refused_without_a_trace() {
    let desk = Desk::open().await;
    for (case, version) in [("482", 3), ("481", 16), ("999", 1)] {
        let answer = desk.escalate("k1", case, version, "third breach").await;
        assert_eq!(answer.status, StatusCode::CONFLICT);
        assert_eq!(answer.code(), "not-open");
    }
    assert_eq!(row_counts(&desk.tables().await), [0, 0, 0, 0, 2]);
    let answer = desk.escalate("k1", "481", 17, "third breach").await;
    assert_eq!(answer.status, StatusCode::CREATED);
}

#[tokio::test]
async fn a_notice_asked_for_twice_is_sent_once_under_the_external_key() {
    let desk = Desk::open().await;
    let first = desk.notify("n1", "ada@example.org").await;
    assert_eq!(first.status, StatusCode::CREATED);
    let again = desk.notify("n1", "ada@example.org").await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.body, first.body);
    let sent = desk.sent().await;
    assert_eq!(sent.len(), 1, "{sent:?}");
    let (key, times) = sent.iter().next().expect("one");
    assert_eq!((key.len(), times), (36, &json!(1)));
    assert_eq!(first.json()["notice"], format!("notice-{key}"));
    let other = desk.notify("n1", "bob@example.org").await;
    assert_eq!(other.code(), "mismatch");
    assert_eq!(desk.sent().await, sent);
}

#[tokio::test]
async fn a_notice_whose_answer_is_lost_is_not_sent_again_and_is_found_out() {
    let desk = Desk::open().await;
    let lost = desk
        .notify("n1", case_escalation::stub::LOSES_ANSWERS)
        .await;
    assert_eq!(lost.code(), "no-receipt");
    let again = desk
        .notify("n1", case_escalation::stub::LOSES_ANSWERS)
        .await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert_eq!(again.code(), "outcome-unknown");
    assert_eq!(desk.reconcile().await.body, "1");
    let found = desk
        .notify("n1", case_escalation::stub::LOSES_ANSWERS)
        .await;
    assert_eq!(found.status, StatusCode::CREATED);
    assert_eq!(found.header("idempotent-replayed"), Some("true"));
    let sent = desk.sent().await;
    let (key, times) = sent.iter().next().expect("one");
    assert_eq!((sent.len(), times), (1, &json!(1)));
    assert_eq!(found.json()["notice"], format!("notice-{key}"));
}

#[tokio::test]
async fn a_notifier_that_cannot_be_reached_leaves_the_key_free() {
    let desk = Desk::open_without_a_notifier().await;
    for _ in 0..2 {
        let answer = desk.notify("n1", "ada@example.org").await;
        assert_eq!(answer.code(), "no-receipt");
    }
    let record = &desk.tables().await["idem_record"][0];
    assert_eq!(
        (&record["status"], &record["attempt"]),
        (&json!("released"), &json!(2))
    );
}

#[tokio::test]
async fn the_page_is_there() {
    let desk = Desk::open().await;
    let page = desk.page().await;
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(page.body.starts_with("<!doctype html>"));
}

#[tokio::test]
async fn each_refusal_leads_to_its_explanation() {
    let desk = Desk::open().await;
    let page = desk.get("/problems").await;
    desk.escalate("k1", "481", 17, "third breach").await;
    let refusals = [
        desk.escalate("k1", "481", 17, "fraud").await,
        desk.escalate("k2", "481", 17, "third breach").await,
        desk.escalate("k3", "482", 3, "third breach").await,
        desk.escalate("", "481", 17, "third breach").await,
    ];
    for refusal in refusals {
        let link = refusal.json()["type"].as_str().expect("a URI").to_owned();
        let (location, anchor) = link.split_once('#').expect("a fragment");
        assert_eq!((location, anchor), ("/problems", &*refusal.code()));
        assert!(page.body.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
}
