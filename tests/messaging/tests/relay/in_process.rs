//! The broker in this process.

use std::time::Duration;

use idem_messaging::outbox::{InProcess, Outbox, Relay};
use idem_tests::patience::in_time;

use crate::subject::{PENDING, Sqlite, Subject, event};

#[tokio::test]
async fn an_event_without_a_subscriber_stays_in_the_outbox() {
    let (subject, outbox, broker) = (Sqlite::fresh().await, Outbox::new(), InProcess::new());
    drop(broker.subscribe("cases"));
    subject.append(&outbox, event("a")).await;
    let relay = Relay::new(subject.pool().clone(), &outbox, broker).max_attempts(1);
    let swept = relay.sweep().await.expect("swept");
    assert_eq!(
        (swept.published, swept.dead, subject.in_state(PENDING).await),
        (0, 0, 1)
    );
}

#[tokio::test]
async fn an_event_comes_again_until_each_subscriber_has_acknowledged_it() {
    let (subject, outbox, broker) = (Sqlite::fresh().await, Outbox::new(), InProcess::new());
    let (mut one, mut two) = (broker.subscribe("cases"), broker.subscribe("cases"));
    let id = subject.append(&outbox, event("a")).await;
    let hour = Duration::from_hours(1);
    let relay = Relay::new(subject.pool().clone(), &outbox, broker).backoff(hour, hour);
    let forgetful = async {
        one.next().await.expect("a delivery").ack();
        drop(two.next().await.expect("a delivery"));
    };
    let (swept, ()) = in_time("the first round", async {
        tokio::join!(relay.sweep(), forgetful)
    })
    .await;
    assert_eq!(swept.expect("swept").retried, 1);
    subject.pass_time().await;
    let careful = async {
        for subscription in [&mut one, &mut two] {
            let delivery = subscription.next().await.expect("a delivery");
            assert_eq!(
                (delivery.event().id(), delivery.event().attempt()),
                (&id, 2)
            );
            delivery.ack();
        }
    };
    let (swept, ()) = in_time("the second round", async {
        tokio::join!(relay.sweep(), careful)
    })
    .await;
    assert_eq!(
        (
            swept.expect("swept").published,
            subject.in_state(PENDING).await
        ),
        (1, 0)
    );
}
