//! What an operator does.

use std::time::Duration;

use idem_messaging::outbox::{EventId, Outbox};

use crate::subject::{Broker, DEAD, Fate, HELD, PUBLISHED, Subject, builder, event, event_of};

const DAY: Duration = Duration::from_hours(24);

pub(crate) async fn a_dead_event_is_published_after_it_was_requeued<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::Permanent);
    let id = subject.append(&outbox, event_of("case-1", "a")).await;
    let relay = subject.relay(&outbox, &broker);
    assert!(
        !outbox
            .requeue(subject.pool(), &id)
            .await
            .expect("an answer")
    );
    relay.sweep().await.expect("swept");
    broker.set("a", Fate::Keep);
    let nobody = EventId::parse(&"0".repeat(64)).expect("an id");
    assert!(
        !outbox
            .requeue(subject.pool(), &nobody)
            .await
            .expect("an answer")
    );
    assert!(
        outbox
            .requeue(subject.pool(), &id)
            .await
            .expect("an answer")
    );
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names(), ["a"]);
    assert_eq!(broker.kept()[0].attempt(), 1);
}

pub(crate) async fn the_dead_of_a_topic_are_requeued_together<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    for name in ["a", "b", "c"] {
        broker.set(name, Fate::Permanent);
        subject.append(&outbox, event(name)).await;
    }
    broker.set("m", Fate::Permanent);
    let mail = builder("m")
        .topic("mails")
        .build()
        .expect("an acceptable event");
    subject.append(&outbox, mail).await;
    let relay = subject.relay(&outbox, &broker);
    relay.sweep().await.expect("swept");
    assert_eq!(subject.in_state(DEAD).await, 4);
    for name in ["a", "b", "c"] {
        broker.set(name, Fate::Keep);
    }
    assert_eq!(
        outbox
            .requeue_topic(subject.pool(), "cases")
            .await
            .expect("an answer"),
        3
    );
    relay.sweep().await.expect("swept");
    assert_eq!((broker.names().len(), subject.in_state(DEAD).await), (3, 1));
}

pub(crate) async fn a_paused_topic_keeps_its_events_and_stops_no_other<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let (pool, relay) = (subject.pool(), subject.relay(&outbox, &broker));
    outbox.pause(pool, "cases").await.expect("paused");
    outbox
        .pause(pool, "cases")
        .await
        .expect("paused twice is paused");
    for number in 0..20 {
        subject
            .append(&outbox, event(&format!("{number:02}")))
            .await;
    }
    let mail = builder("mail")
        .topic("mails")
        .build()
        .expect("an acceptable event");
    subject.append(&outbox, mail).await;
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names(), ["mail"]);
    // None of them is read by a claim any more.
    assert_eq!(subject.in_state(HELD).await, 20);
    assert_eq!(outbox.resume(pool, "cases").await.expect("resumed"), 20);
    assert_eq!(outbox.resume(pool, "cases").await.expect("resumed"), 0);
    subject.append(&outbox, event("new")).await;
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names().len(), 22);
}

pub(crate) async fn a_resumed_topic_keeps_its_order<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let (pool, hour) = (subject.pool(), Duration::from_hours(1));
    let relay = subject.relay(&outbox, &broker).batch(4).backoff(hour, hour);
    broker.set("00", Fate::Retry);
    let names: Vec<_> = (0..12).map(|number| format!("{number:02}")).collect();
    for name in &names[..6] {
        subject.append(&outbox, event_of("case-1", name)).await;
    }
    // The first one waits for its backoff, and the others behind it, when the topic is paused.
    relay.sweep().await.expect("swept");
    outbox.pause(pool, "cases").await.expect("paused");
    for name in &names[6..] {
        subject.append(&outbox, event_of("case-1", name)).await;
    }
    broker.set("00", Fate::Keep);
    subject.pass_time().await;
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names().len(), 0);
    outbox.resume(pool, "cases").await.expect("resumed");
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names(), names);
}

pub(crate) async fn kept_events_are_published_again_by_range<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let relay = subject.relay(&outbox, &broker).keep_for(DAY);
    subject.append(&outbox, event("before")).await;
    let from = subject.moment().await;
    subject.append(&outbox, event("a")).await;
    subject.append(&outbox, event("b")).await;
    let to = subject.moment().await;
    subject.append(&outbox, event("after")).await;
    relay.sweep().await.expect("swept");
    assert_eq!(subject.in_state(PUBLISHED).await, 4);
    assert_eq!(
        outbox
            .republish(subject.pool(), from, to)
            .await
            .expect("an answer"),
        2
    );
    relay.sweep().await.expect("swept");
    let mut again = broker.names()[4..].to_vec();
    again.sort_unstable();
    assert_eq!(again, ["a", "b"]);
    let kept = broker.kept();
    let ids = |name: &str| -> Vec<_> {
        let of_name = kept
            .iter()
            .filter(|event| event.payload() == name.as_bytes());
        of_name.map(|event| event.id().clone()).collect()
    };
    assert_eq!((ids("a").len(), &ids("a")[0]), (2, &ids("a")[1]));
}

pub(crate) async fn kept_and_dead_events_are_purged_after_their_retention_only<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let (pool, relay) = (
        subject.pool(),
        subject.relay(&outbox, &broker).keep_for(DAY * 3),
    );
    broker.set("dead", Fate::Permanent);
    subject.append(&outbox, event("dead")).await;
    subject.append(&outbox, event("kept")).await;
    relay.sweep().await.expect("swept");
    subject.age(DAY).await;
    let purged = async |retention| {
        let dead = outbox.purge_dead(pool, retention).await.expect("purged");
        (
            outbox
                .purge_published(pool, retention)
                .await
                .expect("purged"),
            dead,
        )
    };
    assert_eq!(purged(DAY * 2).await, (0, 0));
    subject.append(&outbox, event("pending")).await;
    assert_eq!(purged(DAY / 2).await, (1, 1));
    assert_eq!(subject.number("SELECT count(*) FROM idem_outbox").await, 1);
    // A relay that keeps events deletes them in time.
    relay.sweep().await.expect("swept");
    subject.age(DAY * 4).await;
    subject
        .relay(&outbox, &broker)
        .keep_for(DAY * 3)
        .sweep()
        .await
        .expect("swept");
    assert_eq!(subject.number("SELECT count(*) FROM idem_outbox").await, 0);
}
