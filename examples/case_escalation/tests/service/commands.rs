//! Tests of the answers to requests, and of the stored data after them.

use crate::desk::{Answer, Desk};
use reqwest::StatusCode;
use serde_json::{Value, json};

fn row_counts(tables: &Value) -> [usize; 4] {
    ["escalation", "audit_fact", "idem_outbox", "case_file"]
        .map(|table| tables[table].as_array().expect("rows").len())
}

/// Returns the statuses of the records of the command.
fn statuses(tables: &Value) -> Vec<&str> {
    let records = tables["idem_record"].as_array().expect("rows").iter();
    let own = records.filter(|record| record["operation"] == "escalate");
    own.map(|record| record["status"].as_str().expect("a status"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_twice_is_one_escalation_and_the_same_answer() {
    let desk = Desk::open().await;
    let first = desk.escalate("k1", "481", 1, "third breach").await;
    assert_eq!(first.status, StatusCode::CREATED);
    assert_eq!(first.header("location"), Some("/cases/481/escalations/1"));
    assert_eq!(first.header("idempotent-replayed"), None);
    let again = desk.escalate("k1", "481", 1, "third breach").await;
    assert_eq!(again.status, StatusCode::CREATED);
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.body, first.body);
    let tables = desk.tables().await;
    assert_eq!(row_counts(&tables), [1, 1, 1, 2]);
    let file = &tables["case_file"][0];
    assert_eq!(
        file,
        &json!({ "case": "481", "version": 2, "state": "escalated" })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_officer_who_has_lost_his_right_gets_no_replay_and_no_second_escalation() {
    let desk = Desk::open().await;
    let first = desk.escalate("k1", "481", 1, "third breach").await;
    let second = desk.escalate("k2", "481", 1, "third breach").await;
    assert_eq!(second.code(), "already-escalated");
    desk.press("/rights/revoke").await;
    // Neither what was done nor the recorded refusal is shown, and a new key does nothing either.
    for key in ["k1", "k2", "k3"] {
        let denied = desk.escalate(key, "481", 1, "third breach").await;
        assert_eq!(denied.status, StatusCode::FORBIDDEN, "{key}");
        assert_eq!(denied.code(), "not-allowed");
        assert_eq!(denied.header("idempotent-replayed"), None);
    }
    desk.press("/rights/restore").await;
    let again = desk.escalate("k1", "481", 1, "third breach").await;
    assert_eq!((again.status, &again.body), (first.status, &first.body));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(row_counts(&desk.tables().await), [1, 1, 1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_at_the_same_time_is_one_escalation() {
    let desk = Desk::open().await;
    let call = || desk.escalate("k1", "481", 1, "third breach");
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
    assert_eq!(row_counts(&desk.tables().await), [1, 1, 1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_reason_under_the_same_key_is_a_mismatch() {
    let desk = Desk::open().await;
    desk.escalate("k1", "481", 1, "third breach").await;
    let other = desk.escalate("k1", "481", 1, "fraud").await;
    assert_eq!(other.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(other.code(), "mismatch");
    let elsewhere = desk.escalate("k1", "482", 17, "third breach").await;
    assert_eq!(elsewhere.code(), "mismatch");
    assert_eq!(row_counts(&desk.tables().await), [1, 1, 1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_for_the_same_version_meets_the_rule_of_the_business() {
    let desk = Desk::open().await;
    desk.escalate("k1", "481", 1, "third breach").await;
    let other = desk.escalate("k2", "481", 1, "third breach").await;
    assert_eq!(other.status, StatusCode::CONFLICT);
    assert_eq!(other.code(), "already-escalated");
    // Refused for good: the refusal is recorded, and a retry gets the same.
    let again = desk.escalate("k2", "481", 1, "third breach").await;
    assert_eq!((again.status, &again.body), (other.status, &other.body));
    assert_eq!(other.header("idempotent-replayed"), None);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let tables = desk.tables().await;
    assert_eq!(row_counts(&tables), [1, 1, 1, 2]);
    assert_eq!(statuses(&tables), ["completed", "failed"]);
    // The next version may be escalated.
    let next = desk.escalate("k3", "481", 2, "third breach").await;
    assert_eq!(next.header("location"), Some("/cases/481/escalations/2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_change_is_refused_without_a_trace() {
    let desk = Desk::open().await;
    for (case, version) in [("482", 3), ("481", 2), ("999", 1)] {
        let answer = desk.escalate("k1", case, version, "third breach").await;
        assert_eq!(answer.status, StatusCode::CONFLICT);
        assert_eq!(answer.code(), "not-open");
    }
    assert_eq!(row_counts(&desk.tables().await), [0, 0, 0, 2]);
    let answer = desk.escalate("k1", "481", 1, "third breach").await;
    assert_eq!(answer.status, StatusCode::CREATED);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_database_stores_is_refused_before_anything_is_written() {
    let desk = Desk::open().await;
    let answer = desk.escalate("k1", "481", 1, "third\0breach").await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(answer.code(), "unreadable");
    let answer = desk.escalate("k1", "%00", 1, "third breach").await;
    assert_eq!(answer.code(), "not-open");
    assert_eq!(row_counts(&desk.tables().await), [0, 0, 0, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_there() {
    let desk = Desk::open().await;
    let page = desk.page().await;
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(page.body.starts_with("<!doctype html>"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_leads_to_its_explanation() {
    let desk = Desk::open().await;
    let page = desk.get("/problems").await;
    desk.escalate("k1", "481", 1, "third breach").await;
    let refusals = [
        desk.escalate("k1", "481", 1, "fraud").await,
        desk.escalate("k2", "481", 1, "third breach").await,
        desk.escalate("k3", "482", 3, "third breach").await,
        desk.escalate("", "481", 1, "third breach").await,
    ];
    for refusal in refusals {
        let link = refusal.json()["type"].as_str().expect("a URI").to_owned();
        let (location, anchor) = link.split_once('#').expect("a fragment");
        assert_eq!((location, anchor), ("/problems", &*refusal.code()));
        assert!(page.body.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_accepted_intent_has_one_audit_row_and_a_retry_adds_none() {
    let desk = Desk::open().await;
    let mut accepted = Vec::new();
    for (key, version) in [("k1", 1), ("k2", 2)] {
        let first = desk.escalate(key, "481", version, "third breach").await;
        assert_eq!(first.status, StatusCode::CREATED);
        accepted.push(json!({ "case": "481", "version": version, "officer": "officer-7" }));
        for _ in 0..3 {
            let retry = desk.escalate(key, "481", version, "third breach").await;
            assert_eq!(retry.header("idempotent-replayed"), Some("true"));
        }
        // Neither is what was refused: another request, a version that is taken, one that may not be escalated.
        desk.escalate(key, "481", version, "fraud").await;
        desk.escalate("other", "481", version, "third breach").await;
        desk.escalate("early", "481", 9, "third breach").await;
        desk.press("/rights/revoke").await;
        desk.escalate(key, "481", version, "third breach").await;
        desk.press("/rights/restore").await;
        let tables = desk.tables().await;
        assert_eq!(tables["audit_fact"], json!(accepted));
    }
}
