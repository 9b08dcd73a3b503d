//! From the append to the receiver, through the relay.

use axum::http::StatusCode;
use idem_messaging::outbox::{Outbox, Relay};
use idem_tests::patience::in_time;

use super::site::{Receiver, to};
use crate::subject::{DEAD, PENDING, Sqlite, Subject as _, event};

#[tokio::test]
async fn a_committed_event_is_posted_until_the_endpoint_takes_it_under_one_id() {
    let (subject, outbox) = (Sqlite::fresh().await, Outbox::new());
    let answers = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::OK];
    let receiver = Receiver::start(move |number| answers[number]).await;
    let publisher = to(receiver.endpoint()).build().expect("a publisher");
    let id = subject.append(&outbox, event("a")).await;
    let relay = Relay::new(subject.pool().clone(), &outbox, publisher);
    let first = in_time("the first attempt", relay.sweep()).await;
    assert_eq!(first.expect("swept").retried, 1);
    subject.pass_time().await;
    let second = in_time("the second attempt", relay.sweep()).await;
    assert_eq!(second.expect("swept").published, 1);
    assert_eq!(subject.in_state(PENDING).await, 0);
    let ids: Vec<_> = receiver
        .posted()
        .iter()
        .map(|posted| posted.header("webhook-id").to_owned())
        .collect();
    assert_eq!(ids, [id.as_str(), id.as_str()]);
}

#[tokio::test]
async fn an_event_for_an_endpoint_that_is_gone_is_set_aside_at_once() {
    let (subject, outbox) = (Sqlite::fresh().await, Outbox::new());
    let receiver = Receiver::start(|_| StatusCode::GONE).await;
    let publisher = to(receiver.endpoint()).build().expect("a publisher");
    subject.append(&outbox, event("a")).await;
    let relay = Relay::new(subject.pool().clone(), &outbox, publisher);
    let swept = in_time("the attempt", relay.sweep()).await.expect("swept");
    assert_eq!((swept.dead, subject.in_state(DEAD).await), (1, 1));
}
