//! Workers that die, and workers that meet.

use idem_client::ledger::{EventId, LedgerState};
use idem_tests::dialect::Dialect as _;

use crate::gate::{Gate, Stop};
use crate::subject::{Office, Subject};

/// Runs a worker until its request is at the gate, and kills it.
async fn kill_at<S: Subject>(office: &Office<S>, gate: &Gate) {
    // It has no room for a claim meanwhile: the server would go on with a claim of a worker that is dead.
    let worker = office.worker_with(gate.client()).batch(1);
    let killed = tokio::select! {
        swept = worker.sweep() => Err(swept),
        () = gate.until_come() => Ok(()),
    };
    killed.expect("the worker is killed at the gate");
}

async fn answered<S: Subject>(office: &Office<S>, id: &EventId) -> http::HeaderMap {
    let entry = office.entry(id).await;
    let LedgerState::Answered(answer) = entry.state else {
        panic!("not answered: {entry:?}");
    };
    assert_eq!(answer.status, 201);
    answer.headers
}

pub(crate) async fn a_worker_that_died_before_it_recorded_the_answer_is_followed_by_another<
    S: Subject,
>() {
    for stop in [Stop::BeforeSending, Stop::WithTheAnswer] {
        let office = Office::<S>::open().await;
        let id = office.enqueue(office.order("tea", "pass")).await;
        kill_at(&office, &Gate::at(stop)).await;
        // Not before the lease has ended.
        assert_eq!(office.sweep().await.published, 0);
        office.subject.pass_time().await;
        assert_eq!(office.sweep().await.published, 1);
        let headers = answered(&office, &id).await;
        let was_sent = stop == Stop::WithTheAnswer;
        assert_eq!(headers.contains_key("idempotent-replayed"), was_sent);
        assert_eq!(office.keys("tea").len(), 1);
        assert_eq!(office.town.effects("tea").await, 1);
    }
}

pub(crate) async fn a_worker_that_died_after_it_recorded_the_answer_sends_nothing_again<
    S: Subject,
>() {
    let office = Office::<S>::open().await;
    let id = office.enqueue(office.order("tea", "pass")).await;
    // As it stands between the two transactions: the answer is recorded, and the event is still leased.
    let gate = Gate::at(Stop::BeforeSending);
    kill_at(&office, &gate).await;
    let answer = "UPDATE idem_ledger SET state = 1, status = 201, answer_headers = '[]', answer_body = body, settled_at = ";
    S::Db::run(office.pool(), &format!("{answer}{}", S::Db::NOW)).await;
    office.subject.pass_time().await;
    assert_eq!(office.sweep().await.published, 1);
    answered(&office, &id).await;
    assert!(office.town.requests("tea").is_empty());
    assert_eq!(office.queued().await, 0);
}

pub(crate) async fn the_first_recorded_answer_stays<S: Subject>() {
    let office = Office::<S>::open().await;
    let id = office.enqueue(office.order("tea", "pass")).await;
    let gate = Gate::at(Stop::WithTheAnswer);
    let slow = office.worker_with(gate.client()).batch(1);
    let slow = tokio::spawn(async move { slow.sweep().await });
    gate.until_come().await;
    // Its lease ends, and another worker takes over while it still has the first answer in hand.
    office.subject.pass_time().await;
    assert_eq!(office.sweep().await.published, 1);
    assert!(
        answered(&office, &id)
            .await
            .contains_key("idempotent-replayed")
    );
    gate.open();
    let swept = slow.await.expect("no panic").expect("swept");
    assert_eq!(swept.fenced, 1);
    assert!(
        answered(&office, &id)
            .await
            .contains_key("idempotent-replayed")
    );
    assert_eq!(office.town.requests("tea").len(), 2);
    assert_eq!(office.town.effects("tea").await, 1);
}

pub(crate) async fn two_workers_send_each_request_once<S: Subject>() {
    let office = Office::<S>::open().await;
    let mut ids = Vec::new();
    for number in 0..20 {
        let order = office.order(&format!("tea-{number}"), "pass");
        ids.push(office.enqueue(order).await);
    }
    let (one, other) = (office.worker().batch(3), office.worker().batch(3));
    let (one, other) = tokio::join!(one.sweep(), other.sweep());
    let (one, other) = (one.expect("swept"), other.expect("swept"));
    assert_eq!(one.published + other.published, 20);
    for (number, id) in ids.iter().enumerate() {
        answered(&office, id).await;
        assert_eq!(office.town.requests(&format!("tea-{number}")).len(), 1);
    }
    assert_eq!(office.queued().await, 0);
}
