//! The order of a partition.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_messaging::outbox::{Outbox, OutboxEvent, PublishError, Publisher, Relay};

use crate::subject::{Broker, Fate, PENDING, Subject, WAITING, builder, event, event_of};

pub(crate) async fn events_of_a_partition_leave_in_the_order_of_their_appends<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let names: Vec<_> = (0..40).map(|number| format!("{number}")).collect();
    for name in &names {
        subject.append(&outbox, event_of("case-1", name)).await;
    }
    // Claims of three: several are needed, and each finds what the others left.
    let relay = subject.relay(&outbox, &broker).batch(3);
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names(), names);
}

pub(crate) async fn an_event_in_backoff_holds_the_later_ones_of_its_partition_and_no_others<
    S: Subject,
>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::Retry);
    for event in [
        event_of("case-1", "a"),
        event_of("case-1", "b"),
        event_of("case-2", "c"),
        event("d"),
    ] {
        subject.append(&outbox, event).await;
    }
    let hour = Duration::from_hours(1);
    let relay = subject.relay(&outbox, &broker).backoff(hour, hour);
    relay.sweep().await.expect("swept");
    // Appended while the first one waits.
    subject.append(&outbox, event_of("case-1", "e")).await;
    relay.sweep().await.expect("swept");
    let mut names = broker.names();
    names.sort_unstable();
    assert_eq!(names, ["c", "d"]);
    assert_eq!(
        (broker.asked("a"), broker.asked("b"), broker.asked("e")),
        (1, 0, 0)
    );
    broker.set("a", Fate::Keep);
    subject.pass_time().await;
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names()[2..], ["a", "b", "e"]);
}

pub(crate) async fn what_waits_is_not_claimed_again_and_leaves_after_the_event_in_front<
    S: Subject,
>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("front", Fate::Retry);
    subject.append(&outbox, event_of("case-1", "front")).await;
    for number in 0..250 {
        subject
            .append(&outbox, event_of("case-1", &format!("{number:03}")))
            .await;
    }
    let hour = Duration::from_hours(1);
    let relay = subject
        .relay(&outbox, &broker)
        .batch(16)
        .backoff(hour, hour);
    relay.sweep().await.expect("swept");
    // A claim reads what is pending, and of these events only one is.
    assert_eq!(
        (
            subject.in_state(PENDING).await,
            subject.in_state(WAITING).await
        ),
        (1, 250)
    );
    broker.set("front", Fate::Keep);
    subject.pass_time().await;
    relay.sweep().await.expect("swept");
    let names = broker.names();
    assert_eq!((names.len(), names[0].as_str()), (251, "front"));
    assert!(names[1..].is_sorted());
}

/// Counts the publications of a partition that are under way.
#[derive(Clone, Default)]
struct Counting {
    under_way: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Publisher for Counting {
    async fn publish(&self, _event: &OutboxEvent) -> Result<(), PublishError> {
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}

pub(crate) async fn one_event_of_a_partition_is_under_way_at_a_time<S: Subject>() {
    let (subject, outbox, counting) = (S::fresh().await, Outbox::new(), Counting::default());
    for number in 0..60 {
        subject
            .append(&outbox, event_of("case-1", &format!("{number}")))
            .await;
    }
    let relay = |batch| Relay::new(subject.pool().clone(), &outbox, counting.clone()).batch(batch);
    let (one, two) = (relay(3), relay(5));
    let (one, two) = tokio::join!(one.sweep(), two.sweep());
    // The last one to look finds nothing, and may do so while the other still publishes.
    let swept = relay(3).sweep().await.expect("swept").published;
    assert_eq!(
        one.expect("swept").published + two.expect("swept").published + swept,
        60
    );
    assert_eq!(counting.most.load(Ordering::SeqCst), 1);
}

/// Refuses each third event for now, and remembers the order of the others.
#[derive(Clone)]
struct Moody {
    broker: Broker,
    calls: Arc<AtomicUsize>,
}

impl Publisher for Moody {
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        if self.calls.fetch_add(1, Ordering::SeqCst) % 3 == 2 {
            return Err(PublishError::retry("refused this time"));
        }
        self.broker.publish(event).await
    }
}

pub(crate) async fn relays_that_fail_at_random_keep_the_order_and_lose_nothing<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let publisher = Moody {
        broker: broker.clone(),
        calls: Arc::default(),
    };
    let relay = |batch| {
        Relay::new(subject.pool().clone(), &outbox, publisher.clone())
            .batch(batch)
            .max_attempts(1_000)
            .idle_interval(Duration::from_millis(5))
            .backoff(Duration::from_millis(1), Duration::from_millis(5))
    };
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let cancel = || {
        let mut stopped = stopped.clone();
        async move { drop(stopped.wait_for(|stop| *stop).await) }
    };
    let append = async {
        for number in 0..150 {
            let partition = format!("case-{}", number % 3);
            subject
                .append(&outbox, event_of(&partition, &format!("{number:03}")))
                .await;
        }
        broker.until_kept(150).await;
        stop.send_replace(true);
    };
    tokio::join!(
        relay(2).run(cancel()),
        relay(4).run(cancel()),
        relay(32).run(cancel()),
        append
    );
    let mut partitions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in broker.kept() {
        let names = partitions
            .entry(event.partition_key().expect("a key").to_owned())
            .or_default();
        names.push(String::from_utf8_lossy(event.payload()).into_owned());
    }
    for (partition, names) in partitions {
        assert_eq!(names.len(), 50, "{partition}");
        assert!(names.is_sorted(), "{partition}: {names:?}");
    }
    assert_eq!(subject.number("SELECT count(*) FROM idem_outbox").await, 0);
}

pub(crate) async fn a_topic_is_a_part_of_the_partition<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::Retry);
    subject.append(&outbox, event_of("case-1", "a")).await;
    let other = builder("b")
        .topic("mails")
        .partition_key("case-1")
        .build()
        .expect("an acceptable event");
    subject.append(&outbox, other).await;
    let hour = Duration::from_hours(1);
    subject
        .relay(&outbox, &broker)
        .backoff(hour, hour)
        .sweep()
        .await
        .expect("swept");
    assert_eq!(broker.names(), ["b"]);
}
