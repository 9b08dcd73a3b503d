//! An event of a transaction that was open while the relay has read on: its number is below all that the relay reads by
//! order.

use std::time::Duration;

use idem_messaging::outbox::Outbox;
use idem_tests::patience::in_time;
use tokio::sync::oneshot;

use crate::subject::{Broker, Fate, Postgres, Subject as _, event, event_of};

#[tokio::test]
async fn an_event_that_was_committed_late_holds_the_later_ones_of_its_partition() {
    let (subject, outbox, broker) = (Postgres::fresh().await, Outbox::new(), Broker::new());
    let mut late = subject.pool().begin().await.expect("a transaction");
    let first = event_of("case-1", "first");
    outbox.append(&mut late, first).await.expect("appended");
    broker.set("first", Fate::WaitAndKeep);
    let relay = subject
        .relay(&outbox, &broker)
        .idle_interval(Duration::from_millis(5));
    let (stop, stopped) = oneshot::channel::<()>();
    let steps = async {
        // Their numbers are above that of the open transaction, and so is where the relay reads from then on.
        for (name, kept) in [("a", 1), ("b", 2)] {
            subject.append(&outbox, event(name)).await;
            broker.until_kept(kept).await;
        }
        late.commit().await.expect("committed");
        broker.until_asked("first").await;
        subject.append(&outbox, event_of("case-1", "second")).await;
        subject.append(&outbox, event("marker")).await;
        // The claim that takes the marker has seen the one before it.
        broker.until_kept(3).await;
        assert_eq!(broker.asked("second"), 0);
        broker.open();
        broker.until_kept(5).await;
        drop(stop);
    };
    let both = Box::pin(async { tokio::join!(relay.run(stopped), steps) });
    in_time("all events leave", both).await;
    assert_eq!(broker.names(), ["a", "b", "marker", "first", "second"]);
}
