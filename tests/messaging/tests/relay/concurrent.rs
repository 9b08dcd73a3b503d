//! Transactions that are open at once. SQLite has one writer, so that they cannot be.

use idem_messaging::outbox::Outbox;
use idem_tests::patience::in_time;
use tokio::sync::oneshot;

use crate::subject::{Broker, ConcurrentSubject, event_of};

pub(crate) async fn the_transaction_that_began_first_and_commits_last_is_not_skipped<
    S: ConcurrentSubject,
>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let relay = subject.relay(&outbox, &broker);
    let mut first = subject.pool().begin().await.expect("a transaction");
    outbox
        .append(&mut first, event_of("case-1", "first"))
        .await
        .expect("appended");
    subject.append(&outbox, event_of("case-1", "second")).await;
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names(), ["second"]);
    first.commit().await.expect("committed");
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names(), ["second", "first"]);
}

pub(crate) async fn a_running_relay_publishes_at_once_what_was_appended_before_and_is_committed_late<
    S: ConcurrentSubject,
>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let (stop, stopped) = oneshot::channel::<()>();
    let appending = async {
        let mut open = Vec::new();
        for name in ["x", "y"] {
            let mut tx = subject.pool().begin().await.expect("a transaction");
            let appended = outbox.append(&mut tx, event_of("case-1", name)).await;
            appended.expect("appended");
            open.push(tx);
        }
        // The relay goes on, claim by claim.
        for number in 1..=6 {
            subject
                .append(&outbox, event_of("case-1", &format!("{number}")))
                .await;
            broker.until_kept(number).await;
        }
        for (number, tx) in open.into_iter().enumerate() {
            tx.commit().await.expect("committed");
            broker.until_kept(7 + number).await;
        }
        drop(stop);
    };
    let relay = subject.relay(&outbox, &broker);
    in_time("everything is published", async {
        tokio::join!(relay.run(stopped), appending)
    })
    .await;
    assert_eq!(broker.names()[6..], ["x", "y"]);
}

pub(crate) async fn an_event_that_is_not_committed_stops_nobody<S: ConcurrentSubject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let mut open = subject.pool().begin().await.expect("a transaction");
    outbox
        .append(&mut open, event_of("case-1", "open"))
        .await
        .expect("appended");
    for name in ["a", "b"] {
        subject.append(&outbox, event_of("case-1", name)).await;
    }
    let swept = in_time(
        "the relay waits for no lock",
        subject.relay(&outbox, &broker).sweep(),
    )
    .await;
    assert_eq!(swept.expect("swept").published, 2);
    open.rollback().await.expect("rolled back");
    assert_eq!(broker.names(), ["a", "b"]);
}

pub(crate) async fn an_ordered_append_waits_for_the_commit_of_another<S: ConcurrentSubject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let pool = subject.pool();
    let mut first = pool.begin().await.expect("a transaction");
    outbox
        .append_ordered(&mut first, event_of("case-1", "first"))
        .await
        .expect("appended");
    // Another partition is another lock.
    let mut other = pool.begin().await.expect("a transaction");
    let append = outbox.append_ordered(&mut other, event_of("case-2", "other"));
    in_time("another partition does not wait", append)
        .await
        .expect("appended");
    other.commit().await.expect("committed");
    let second = async {
        let mut second = pool.begin().await.expect("a transaction");
        outbox
            .append_ordered(&mut second, event_of("case-1", "second"))
            .await
            .expect("appended");
        second.commit().await.expect("committed");
    };
    let commit = async {
        subject.until_blocked().await;
        first.commit().await.expect("committed");
    };
    in_time("both are committed", async { tokio::join!(second, commit) }).await;
    subject
        .relay(&outbox, &broker)
        .sweep()
        .await
        .expect("swept");
    let mut names = broker.names();
    names.retain(|name| name != "other");
    assert_eq!(names, ["first", "second"]);
}
