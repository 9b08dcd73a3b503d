//! Tests of the way of an event: every stage is reached once, whatever happens on the way.

use crate::desk::Desk;
use case_escalation::stub::LOSES_ANSWERS;
use serde_json::{Value, json};

/// The only escalation, after everything has arrived.
async fn stage(desk: &Desk) -> Value {
    let state = desk.state().await;
    let stages = state["stages"].as_array().expect("rows");
    assert_eq!(stages.len(), 1, "{stages:?}");
    stages[0].clone()
}

/// Asserts that one escalation has reached each stage once.
async fn assert_once(desk: &Desk) {
    let stage = stage(desk).await;
    assert_eq!(
        (&stage["notice"], &stage["overview"]),
        (&json!("completed"), &json!("applied"))
    );
    assert_eq!(stage["in_outbox"], 0, "{stage}");
    let sent = desk.sent().await;
    assert!(
        sent.len() == 1 && sent.values().all(|times| *times == 1),
        "{sent:?}"
    );
    let tables = desk.tables().await;
    assert_eq!(
        tables["overview"],
        json!([{ "case": "481", "version": 1, "escalations": 1 }])
    );
    assert_eq!(tables["notice"].as_array().map(Vec::len), Some(1));
}

/// Returns the deliveries to the notifier and to the overview.
async fn deliveries(desk: &Desk) -> [u64; 2] {
    let state = desk.state().await;
    ["notifier", "overview"].map(|consumer| state["deliveries"][consumer].as_u64().unwrap_or(0))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_escalation_asked_for_twice_reaches_each_stage_once() {
    let desk = Desk::open().await;
    for _ in 0..2 {
        desk.escalate("k1", "481", 1, "third breach").await;
    }
    desk.arrived().await;
    assert_once(&desk).await;
    assert_eq!(deliveries(&desk).await, [1, 1]);
    assert_eq!(stage(&desk).await["published"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_delivered_again_has_no_second_effect() {
    let desk = Desk::open().await;
    desk.escalate("k1", "481", 1, "third breach").await;
    desk.arrived().await;
    for times in 2..=4 {
        desk.press("/broker/deliver-again").await;
        desk.arrived().await;
        assert_eq!(deliveries(&desk).await, [times, times]);
    }
    assert_once(&desk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_waits_for_a_relay_that_was_killed() {
    let desk = Desk::open().await;
    desk.press("/relay/kill").await;
    desk.escalate("k1", "481", 1, "third breach").await;
    assert_eq!(stage(&desk).await["in_outbox"], 1);
    assert_eq!(deliveries(&desk).await, [0, 0]);
    desk.press("/relay/start").await;
    desk.arrived().await;
    assert_once(&desk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_waits_for_a_broker_that_was_stopped() {
    let desk = Desk::open().await;
    desk.press("/broker/stop").await;
    let answer = desk.escalate("k1", "481", 1, "third breach").await;
    assert_eq!(
        answer.status, 201,
        "a broker that is down costs the command nothing"
    );
    assert_eq!(stage(&desk).await["in_outbox"], 1);
    assert_eq!(deliveries(&desk).await, [0, 0]);
    desk.press("/broker/start").await;
    desk.arrived().await;
    assert_once(&desk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_told_under_another_id_meets_the_guards_of_the_business() {
    let desk = Desk::open().await;
    desk.escalate("k1", "481", 1, "third breach").await;
    desk.arrived().await;
    desk.press("/broker/other-id").await;
    desk.arrived().await;
    assert_eq!(deliveries(&desk).await, [2, 2], "both consumers handled it");
    assert_eq!(stage(&desk).await["published"], 2, "they are two events");
    assert_once(&desk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_escalations_of_a_case_are_applied_in_their_order() {
    let desk = Desk::open().await;
    for version in 1..=5 {
        let key = format!("k{version}");
        desk.escalate(&key, "481", version, "another breach").await;
    }
    desk.arrived().await;
    let tables = desk.tables().await;
    assert_eq!(
        tables["overview"],
        json!([{ "case": "481", "version": 5, "escalations": 5 }])
    );
    assert_eq!(desk.sent().await.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_whose_answer_is_lost_is_parked_and_answered_once_it_is_found_out() {
    let desk = Desk::open().await;
    desk.escalate_to("k1", "481", 1, "third breach", LOSES_ANSWERS)
        .await;
    desk.arrived().await;
    let parked = stage(&desk).await;
    assert_eq!(
        (&parked["notice"], &parked["overview"]),
        (&json!("unknown"), &json!("applied"))
    );
    // Delivered again, it is not sent again.
    desk.press("/broker/deliver-again").await;
    desk.arrived().await;
    assert_eq!(stage(&desk).await["notice"], "unknown");
    assert_eq!(desk.reconcile().await.body, "1");
    desk.arrived().await;
    assert_once(&desk).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notifier_that_cannot_be_reached_leaves_no_doubt_and_is_tried_again() {
    let desk = Desk::open_without_a_notifier().await;
    desk.escalate("k1", "481", 1, "third breach").await;
    desk.until("two attempts to notify", |state| {
        let records = state["tables"]["idem_record"].as_array();
        let mut records = records.expect("rows").iter();
        records.any(|record| {
            record["operation"] == "notify"
                && record["status"] == "released"
                && record["attempt"].as_i64() >= Some(2)
        })
    })
    .await;
    // The other consumer does not wait for it.
    desk.until("the overview", |state| {
        state["stages"][0]["overview"] == "applied"
    })
    .await;
    assert!(desk.sent().await.is_empty());
}
