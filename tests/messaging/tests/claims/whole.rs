//! What holds of each row, whatever has become of it. A CHECK of all this would cost
//! each append more than its row does.

use std::time::Duration;

use idem_messaging::outbox::Outbox;

use crate::subject::{
    Broker, DEAD, Fate, HELD, PENDING, PUBLISHED, Postgres, Subject as _, WAITING, builder, event,
    event_of,
};

const BROKEN: &str = "SELECT count(*) FROM idem_outbox WHERE NOT (state BETWEEN 0 AND 4
    AND (settled_at IS NOT NULL) = (state BETWEEN 1 AND 2)
    AND (queued_xid = '18446744073709551615' OR state = 0)
    AND (claim_token IS NULL OR queued_xid <> '18446744073709551615')
    AND (claim_token IS NULL) = (lease_ends_at IS NULL)
    AND partition_hash IS NOT DISTINCT FROM hashtextextended(topic, hashtextextended(partition_key, 0)))";

#[tokio::test]
async fn each_row_is_whole_in_every_state() {
    let (subject, outbox, broker) = (Postgres::fresh().await, Outbox::new(), Broker::new());
    let (pool, hour) = (subject.pool(), Duration::from_hours(1));
    let relay = || {
        let relay = subject.relay(&outbox, &broker).keep_for(24 * hour);
        relay.backoff(hour, hour)
    };
    broker.set("failing", Fate::Retry);
    broker.set("refused", Fate::Permanent);
    let later = builder("later").deliver_after(hour).build();
    let mail = builder("mail").topic("mails").partition_key("case-1");
    for event in [
        event("kept"),
        event_of("case-1", "failing"),
        event_of("case-1", "behind"),
        event_of("case-2", "refused"),
        event_of("case-3", "kept too"),
        later.expect("an acceptable event"),
        mail.build().expect("an acceptable event"),
    ] {
        subject.append(&outbox, event).await;
    }
    outbox.pause(pool, "mails").await.expect("paused");
    assert_eq!(subject.number(BROKEN).await, 0, "appended");
    relay().sweep().await.expect("swept");
    for (state, events) in [
        (PENDING, 2),
        (PUBLISHED, 2),
        (DEAD, 1),
        (WAITING, 1),
        (HELD, 1),
    ] {
        assert_eq!(subject.in_state(state).await, events, "state {state}");
    }
    assert_eq!(subject.number(BROKEN).await, 0, "swept");
    broker.set("failing", Fate::Keep);
    broker.set("refused", Fate::Unavailable);
    outbox.resume(pool, "mails").await.expect("resumed");
    let requeued = outbox.requeue_topic(pool, "cases").await;
    assert_eq!(requeued.expect("requeued"), 1);
    subject.pass_time().await;
    assert_eq!(subject.number(BROKEN).await, 0, "resumed and requeued");
    relay().sweep().await.expect("swept");
    assert_eq!(subject.number(BROKEN).await, 0, "swept again");
}
