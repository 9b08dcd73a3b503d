//! What is published, and how it looks.

use std::time::Duration;

use idem_messaging::outbox::Outbox;

use crate::subject::{Broker, Subject, builder, event};

pub(crate) async fn a_committed_event_is_published_and_its_row_deleted<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    subject.append(&outbox, event("a")).await;
    let swept = subject
        .relay(&outbox, &broker)
        .sweep()
        .await
        .expect("swept");
    assert_eq!(swept.published, 1);
    assert_eq!(broker.names(), ["a"]);
    assert_eq!(subject.number("SELECT count(*) FROM idem_outbox").await, 0);
}

pub(crate) async fn an_event_comes_out_as_it_was_appended<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let whole = builder("whole")
        .partition_key("Ärger 'quoted' \\ 😀")
        .source("https://example.com/cases?x='1'")
        .subject("case \u{7528} 17")
        .header("X-Tenant", "tenant \"7\" \\ '8'")
        .header("x-empty", "")
        .trace_context(trace, Some("vendor=1".to_owned()))
        .payload("application/octet-stream", [0, 1, 0xff, b'\'', b'\\', 0])
        .build()
        .expect("an acceptable event");
    let plain = builder("plain")
        .payload("text/plain", "")
        .build()
        .expect("an acceptable event");
    let before = subject.now().await;
    subject.append(&outbox, whole.clone()).await;
    subject.append(&outbox, plain.clone()).await;
    let after = subject.now().await;
    subject
        .relay(&outbox, &broker)
        .sweep()
        .await
        .expect("swept");
    let kept = broker.kept();
    let of = |id| {
        kept.iter()
            .find(|event| event.id() == id)
            .expect("it was published")
    };
    assert_eq!(**of(whole.id()), whole);
    assert_eq!(**of(plain.id()), plain);
    let whole = of(whole.id());
    assert_eq!(whole.attempt(), 1);
    assert!(before <= whole.appended_at() && whole.appended_at() <= after);
    let attributes: Vec<_> = whole.attributes().map(|(name, _)| name).collect();
    assert_eq!(
        attributes,
        [
            "specversion",
            "id",
            "source",
            "type",
            "subject",
            "partitionkey",
            "traceparent",
            "tracestate",
            "time"
        ]
    );
}

pub(crate) async fn nothing_is_published_of_a_transaction_that_was_rolled_back<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let mut tx = subject.pool().begin().await.expect("a transaction");
    outbox.append(&mut tx, event("a")).await.expect("appended");
    tx.rollback().await.expect("rolled back");
    let swept = subject
        .relay(&outbox, &broker)
        .sweep()
        .await
        .expect("swept");
    assert_eq!((swept.published, broker.names().len()), (0, 0));
    // And the id is free for the repetition of the call.
    subject.append(&outbox, event("a")).await;
    subject
        .relay(&outbox, &broker)
        .sweep()
        .await
        .expect("swept");
    assert_eq!(broker.names(), ["a"]);
}

pub(crate) async fn an_event_is_held_back_until_its_delivery_time<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    let day = Duration::from_hours(24);
    let later = builder("later")
        .deliver_after(day)
        .build()
        .expect("an acceptable event");
    let at = idem_runtime::record::Timestamp::from_micros(
        subject.now().await.as_micros() + i64::try_from(day.as_micros()).expect("a day"),
    );
    let at = builder("at")
        .deliver_at(at)
        .build()
        .expect("an acceptable event");
    subject.append(&outbox, later).await;
    subject.append(&outbox, at).await;
    subject.append(&outbox, event("now")).await;
    let relay = subject.relay(&outbox, &broker);
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names(), ["now"]);
    subject.pass_time().await;
    relay.sweep().await.expect("swept");
    assert_eq!(broker.names().len(), 3);
}

pub(crate) async fn two_relays_publish_each_event_once<S: Subject>() {
    let (subject, outbox, broker) = (S::fresh().await, Outbox::new(), Broker::new());
    for number in 0..100 {
        subject.append(&outbox, event(&format!("{number}"))).await;
    }
    let (one, two) = (
        subject.relay(&outbox, &broker).batch(8),
        subject.relay(&outbox, &broker).batch(8),
    );
    let (one, two) = tokio::join!(one.sweep(), two.sweep());
    let (one, two) = (one.expect("swept"), two.expect("swept"));
    assert_eq!(
        (one.published + two.published, one.fenced + two.fenced),
        (100, 0)
    );
    let mut names = broker.names();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), broker.names().len()), (100, 100));
}
