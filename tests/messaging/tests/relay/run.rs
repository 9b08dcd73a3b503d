//! A relay that runs on: how it is woken, and how it is stopped.

use std::time::Duration;

use idem_messaging::outbox::Outbox;
use idem_tests::patience::in_time;
use tokio::sync::oneshot;

use crate::subject::{Broker, Fate, PENDING, Subject, event, event_of};

pub(crate) async fn a_relay_in_the_appending_process_is_woken<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let (stop, stopped) = oneshot::channel::<()>();
    // Its own polls come too late for anybody.
    let hour = Duration::from_hours(1);
    let relay = subject.relay(&outbox, &broker).idle_interval(hour);
    let appending = async {
        for name in ["a", "b"] {
            let mut tx = subject.pool().begin().await.expect("a transaction");
            outbox.append(&mut tx, event(name)).await.expect("appended");
            // The hint comes before the COMMIT.
            tokio::task::yield_now().await;
            tx.commit().await.expect("committed");
        }
        broker.until_kept(2).await;
        drop(stop);
    };
    let (swept, ()) = in_time("the relay stops", async {
        tokio::join!(relay.run(stopped), appending)
    })
    .await;
    assert_eq!(swept.published, 2);
}

pub(crate) async fn a_relay_elsewhere_finds_an_event_at_its_interval<S: Subject>() {
    let (subject, broker) = (S::fresh().await, Broker::new());
    let (stop, stopped) = oneshot::channel::<()>();
    let relay = subject
        .relay(&Outbox::new(), &broker)
        .idle_interval(Duration::from_millis(20));
    // An outbox of another process shares no hint.
    let elsewhere = Outbox::new();
    let appending = async {
        subject.append(&elsewhere, event("a")).await;
        broker.until_kept(1).await;
        drop(stop);
    };
    let (swept, ()) = in_time("the relay stops", async {
        tokio::join!(relay.run(stopped), appending)
    })
    .await;
    assert_eq!(swept.published, 1);
}

pub(crate) async fn a_relay_that_is_stopped_finishes_what_is_under_way_and_gives_back_the_rest<
    S: Subject,
>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    broker.set("a", Fate::WaitAndKeep);
    for name in ["a", "b", "c"] {
        subject.append(&outbox, event_of("case-1", name)).await;
    }
    let relay = subject.relay(&outbox, &broker).max_attempts(1);
    let cancel = async {
        broker.until_asked("a").await;
        // The publication goes on in a task of this thread, and the relay is told before any other task runs.
        broker.open();
    };
    let swept = in_time("the relay stops", relay.run(cancel)).await;
    assert_eq!((swept.published, swept.released), (1, 2));
    assert_eq!(broker.names(), ["a"]);
    let untouched = "SELECT count(*) FROM idem_outbox WHERE attempts = 0 AND claim_token IS NULL";
    assert_eq!(
        (
            subject.in_state(PENDING).await,
            subject.number(untouched).await
        ),
        (2, 2)
    );
    subject
        .relay(&outbox, &broker)
        .max_attempts(1)
        .sweep()
        .await
        .expect("swept");
    assert_eq!(broker.names(), ["a", "b", "c"]);
}
