//! Events that cannot be published, and brokers that are down.

use std::time::Duration;

use idem_messaging::outbox::Outbox;

use crate::subject::{Broker, DEAD, Fate, PENDING, Subject, event, event_of};

pub(crate) async fn a_poisonous_event_is_set_aside_after_its_attempts_and_stops_nobody<
    S: Subject,
>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("poison", Fate::Retry);
    subject.append(&outbox, event_of("case-1", "poison")).await;
    subject.append(&outbox, event_of("case-1", "next")).await;
    let hour = Duration::from_hours(1);
    let relay = subject
        .relay(&outbox, &broker)
        .max_attempts(3)
        .backoff(hour, hour);
    for attempt in 1..=3 {
        assert_eq!(subject.in_state(DEAD).await, 0);
        let swept = relay.sweep().await.expect("swept");
        assert_eq!(broker.asked("poison"), attempt);
        assert_eq!(swept.dead, u64::from(attempt == 3));
        subject.pass_time().await;
    }
    relay.sweep().await.expect("swept");
    assert_eq!(
        (subject.in_state(DEAD).await, broker.names()),
        (1, vec!["next".to_owned()])
    );
    let recorded = "SELECT count(*) FROM idem_outbox WHERE state = 2 AND last_error = 'refused this time' AND attempts = 3";
    assert_eq!(subject.number(recorded).await, 1);
}

pub(crate) async fn an_event_refused_for_good_is_set_aside_at_once<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::Permanent);
    subject.append(&outbox, event_of("case-1", "a")).await;
    subject.append(&outbox, event_of("case-1", "b")).await;
    let swept = subject
        .relay(&outbox, &broker)
        .sweep()
        .await
        .expect("swept");
    assert_eq!((swept.dead, swept.published), (1, 1));
    assert_eq!(
        (broker.asked("a"), broker.names()),
        (1, vec!["b".to_owned()])
    );
}

pub(crate) async fn a_broker_that_is_down_uses_up_no_attempt<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::Unavailable);
    subject.append(&outbox, event_of("case-1", "a")).await;
    subject.append(&outbox, event_of("case-1", "b")).await;
    let relay = subject.relay(&outbox, &broker).max_attempts(1);
    for _ in 0..5 {
        let swept = relay.sweep().await.expect("swept");
        assert_eq!((swept.dead, swept.published), (0, 0));
        subject.pass_time().await;
    }
    assert_eq!((broker.asked("a"), broker.asked("b")), (5, 0));
    broker.set("a", Fate::Keep);
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names(), ["a", "b"]);
    assert!(broker.kept().iter().all(|event| event.attempt() == 1));
}

pub(crate) async fn what_cannot_be_published_now_makes_room_for_what_can<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    for number in 0..8 {
        let name = format!("{number}");
        broker.set(&name, Fate::UnavailableForLong);
        subject.append(&outbox, event(&name)).await;
    }
    subject.append(&outbox, event("elsewhere")).await;
    let relay = subject.relay(&outbox, &broker).batch(4);
    for _ in 0..3 {
        relay.sweep().await.expect("swept");
    }
    assert_eq!(broker.names(), ["elsewhere"]);
}

pub(crate) async fn a_publisher_that_panics_has_failed_once<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::Panic);
    subject.append(&outbox, event_of("case-1", "a")).await;
    subject.append(&outbox, event_of("case-1", "b")).await;
    let hour = Duration::from_hours(1);
    let relay = subject.relay(&outbox, &broker).backoff(hour, hour);
    let swept = relay.sweep().await.expect("swept");
    assert_eq!((swept.retried, swept.published), (1, 0));
    broker.set("a", Fate::Keep);
    subject.pass_time().await;
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names(), ["a", "b"]);
    assert_eq!(broker.kept()[0].attempt(), 2);
}

pub(crate) async fn an_event_that_kills_its_relays_is_set_aside<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::WaitAndKeep);
    subject.append(&outbox, event("a")).await;
    for _ in 0..2 {
        // With room for one event it claims nothing meanwhile: the server would go on with a claim of a relay that is
        // dead.
        let relay = subject.relay(&outbox, &broker).max_attempts(2).batch(1);
        let before = broker.asked("a");
        let killed = tokio::select! {
            swept = relay.sweep() => Err(swept),
            () = async {
                broker.until_asked("a").await;
                while broker.asked("a") == before {
                    tokio::task::yield_now().await;
                }
            } => Ok(()),
        };
        killed.expect("the relay is killed while it publishes");
        subject.pass_time().await;
    }
    let swept = subject
        .relay(&outbox, &broker)
        .max_attempts(2)
        .sweep()
        .await
        .expect("swept");
    assert_eq!((swept.dead, broker.asked("a")), (1, 2));
    assert_eq!(
        (
            subject.in_state(PENDING).await,
            subject.in_state(DEAD).await
        ),
        (0, 1)
    );
}
