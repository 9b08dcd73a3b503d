//! Which events leave, and in which order a broker gets them.

use std::collections::BTreeSet;
use std::time::Duration;

use idem_messaging::outbox::{Event, Origin, Outbox};
use idem_runtime::{IdempotencyKey, Operation, Scope};
use idem_tests_messaging::brokers::fresh;
use idem_tests_messaging::fact::Fact;

use crate::chain::{event, relay, sweep};
use crate::site::BrokerSite;
use crate::subject::{ConcurrentSubject, Subject};

async fn payloads<B: BrokerSite>(site: &B, topic: &str) -> Vec<String> {
    let collected = site.collected(topic).await;
    collected.into_iter().map(|(_, payload)| payload).collect()
}

pub(crate) async fn an_event_that_waits_for_its_broker_holds_the_next_one_of_its_partition<
    S: Subject,
    B: BrokerSite,
>() {
    let (subject, site, outbox) = (S::fresh().await, B::fresh().await, Outbox::new());
    let publisher = B::publisher(site.port()).await;
    // Nobody takes it yet.
    let topic = fresh("later");
    for fact in ["a", "b"] {
        subject.append(&outbox, event(&topic, fact)).await;
    }
    let hour = Duration::from_hours(1);
    let relay = relay(&subject, &outbox, publisher).backoff(hour, hour);
    let swept = sweep::<S, _>(&relay).await;
    assert_eq!((swept.retried, swept.published), (1, 0));
    site.collect(&topic).await;
    // The broker would take the second one now; the first one waits for its backoff.
    assert_eq!(sweep::<S, _>(&relay).await.published, 0);
    let untouched = "SELECT count(*) FROM idem_outbox WHERE attempts = 0";
    assert_eq!(subject.number(untouched).await, 1);
    subject.pass_time().await;
    assert_eq!(sweep::<S, _>(&relay).await.published, 2);
    assert_eq!(payloads(&site, &topic).await, ["a", "b"].map(Fact::json));
}

pub(crate) async fn the_transaction_that_began_first_and_commits_last_is_not_skipped<
    S: ConcurrentSubject,
    B: BrokerSite,
>() {
    let (subject, site, outbox) = (S::fresh().await, B::fresh().await, Outbox::new());
    let topic = fresh("facts");
    site.collect(&topic).await;
    let relay = relay(&subject, &outbox, B::publisher(site.port()).await);
    let mut first = subject.pool().begin().await.expect("a transaction");
    let appended = outbox.append(&mut first, event(&topic, "first")).await;
    appended.expect("appended");
    subject.append(&outbox, event(&topic, "second")).await;
    assert_eq!(sweep::<S, _>(&relay).await.published, 1);
    first.commit().await.expect("committed");
    assert_eq!(sweep::<S, _>(&relay).await.published, 1);
    let expected = ["second", "first"].map(Fact::json);
    assert_eq!(payloads(&site, &topic).await, expected);
}

pub(crate) async fn two_scopes_and_two_namespaces_with_one_key_give_two_events_each<
    S: Subject,
    B: BrokerSite,
>() {
    let (subject, site, outbox) = (S::fresh().await, B::fresh().await, Outbox::new());
    let topic = fresh("facts");
    site.collect(&topic).await;
    for (namespace, scope) in [("cases", "one"), ("cases", "two"), ("bills", "one")] {
        let key: IdempotencyKey = "a-key".parse().expect("a key");
        let key = key.scoped(Scope::new(scope).expect("a scope"));
        let operation = Operation::new(namespace, "note");
        let origin = Origin::of(operation, &key).expect("an origin");
        let event = Event::builder(&origin, "noted")
            .topic(&topic)
            .event_type("com.example.noted")
            .payload("application/json", Fact::json("a-key"));
        let event = event.build().expect("an event");
        // A replay of a call appends the same id, which the table has.
        subject.append(&outbox, event).await;
    }
    let relay = relay(&subject, &outbox, B::publisher(site.port()).await);
    assert_eq!(sweep::<S, _>(&relay).await.published, 3);
    let collected = site.collected(&topic).await;
    let ids: BTreeSet<_> = collected.iter().map(|(id, _)| id).collect();
    assert_eq!((collected.len(), ids.len()), (3, 3));
}
