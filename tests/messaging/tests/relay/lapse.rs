//! Relays that die, and relays that sleep past their lease.

use std::time::Duration;

use idem_messaging::outbox::Outbox;
use idem_tests::patience::in_time;

use crate::subject::{Broker, DEAD, Fate, PENDING, Subject, event_of};

/// Runs a relay until the broker has this event in hand, and kills the relay.
async fn kill_while_publishing<S: Subject>(
    subject: &S,
    outbox: &Outbox,
    broker: &Broker,
    name: &str,
) {
    // It has no room for a claim meanwhile: the server would go on with a claim of a relay that is dead.
    let pending = u32::try_from(subject.in_state(PENDING).await).expect("a few events");
    let relay = subject.relay(outbox, broker).batch(pending);
    let killed = tokio::select! {
        swept = relay.sweep() => Err(swept),
        () = broker.until_asked(name) => Ok(()),
    };
    killed.expect("the relay is killed while it publishes");
}

pub(crate) async fn a_relay_that_died_before_it_published_is_followed_by_another<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::WaitAndKeep);
    for name in ["a", "b"] {
        subject.append(&outbox, event_of("case-1", name)).await;
    }
    kill_while_publishing(&subject, &outbox, &broker, "a").await;
    let other = subject.relay(&outbox, &broker);
    broker.set("a", Fate::Keep);
    // Not before the lease has ended.
    let swept = other.sweep().await.expect("swept");
    assert_eq!(swept.published, 0);
    subject.pass_time().await;
    other.sweep().await.expect("swept");
    assert_eq!(broker.names(), ["a", "b"]);
}

pub(crate) async fn a_relay_that_died_after_it_published_has_its_event_repeated_under_one_id<
    S: Subject,
>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::KeepAndWait);
    let id = subject.append(&outbox, event_of("case-1", "a")).await;
    subject.append(&outbox, event_of("case-1", "b")).await;
    kill_while_publishing(&subject, &outbox, &broker, "a").await;
    broker.set("a", Fate::Keep);
    subject.pass_time().await;
    subject
        .relay(&outbox, &broker)
        .sweep()
        .await
        .expect("swept");
    assert_eq!(broker.names(), ["a", "a", "b"]);
    assert!(broker.kept()[..2].iter().all(|event| *event.id() == id));
}

pub(crate) async fn a_relay_past_its_lease_is_fenced_off<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::KeepAndWait);
    subject.append(&outbox, event_of("case-1", "a")).await;
    // The first one has room for one event, so that it does not claim it again itself.
    let first = subject.relay(&outbox, &broker).batch(1);
    let second = subject.relay(&outbox, &broker);
    let meanwhile = async {
        broker.until_asked("a").await;
        subject.pass_time().await;
        broker.set("a", Fate::Keep);
        let swept = second.sweep().await.expect("swept");
        assert_eq!(swept.published, 1);
        broker.open();
    };
    let (swept, ()) = in_time("both relays end", async {
        tokio::join!(first.sweep(), meanwhile)
    })
    .await;
    let swept = swept.expect("swept");
    assert_eq!((swept.fenced, swept.published), (1, 0));
    assert_eq!(broker.names(), ["a", "a"]);
}

pub(crate) async fn a_failure_that_comes_late_changes_nothing_of_the_next_claim<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::WaitAndRefuse);
    subject.append(&outbox, event_of("case-1", "a")).await;
    // The first one has room for one event, so that it does not claim it again itself.
    let first = subject.relay(&outbox, &broker).batch(1);
    let second = subject.relay(&outbox, &broker);
    let refused = async {
        let swept = first.sweep().await;
        // The second one is still publishing.
        let claimed =
            "SELECT count(*) FROM idem_outbox WHERE state = 0 AND claim_token IS NOT NULL";
        assert_eq!(subject.number(claimed).await, 1);
        broker.open();
        swept
    };
    let next_claim = async {
        broker.until_asked("a").await;
        subject.pass_time().await;
        broker.set("a", Fate::WaitAndKeep);
        let late = async {
            while broker.asked("a") < 2 {
                tokio::task::yield_now().await;
            }
            // The permit goes to whoever waits longest: the first relay's publication fails now.
            broker.open();
        };
        tokio::join!(second.sweep(), late).0
    };
    let both = async { tokio::join!(refused, next_claim) };
    let (first, second) = in_time("both relays end", both).await;
    let (first, second) = (first.expect("swept"), second.expect("swept"));
    assert_eq!((first.fenced, first.dead), (1, 0));
    assert_eq!((second.published, subject.in_state(DEAD).await), (1, 0));
    assert_eq!(broker.names(), ["a"]);
}

pub(crate) async fn a_sleeper_begins_no_publication_past_its_lease<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    for name in ["a", "b"] {
        subject.append(&outbox, event_of("case-1", name)).await;
    }
    // The lease is as long as the publish timeout: no publication is sure to end before the lease does.
    let second = Duration::from_secs(1);
    let relay = subject
        .relay(&outbox, &broker)
        .batch(2)
        .lease(second)
        .publish_timeout(second);
    let released = async {
        while subject
            .number("SELECT count(*) FROM idem_outbox WHERE claim_token IS NOT NULL")
            .await
            == 0
        {
            tokio::task::yield_now().await;
        }
    };
    in_time("the relay claims", async {
        tokio::select! {
            swept = relay.sweep() => panic!("something was settled for good: {swept:?}"),
            () = released => {}
        }
    })
    .await;
    assert_eq!(broker.names().len(), 0);
    // The server may go on with a last claim of the relay that is dead, which holds them for another lease.
    in_time("another relay publishes them", async {
        while broker.names().len() < 2 {
            subject.pass_time().await;
            let other = subject.relay(&outbox, &broker);
            other.sweep().await.expect("swept");
        }
    })
    .await;
    assert_eq!(broker.names(), ["a", "b"]);
}
