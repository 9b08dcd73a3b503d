//! How many messages are in work at once, and how long one may be.

use std::num::NonZeroU32;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer};
use idem_messaging::inbox::Answer;
use idem_tests_messaging::receiver::{Act, Receiver};
use sqlx::Sqlite;

use super::site::{Running, Site};

#[tokio::test(flavor = "multi_thread")]
async fn no_more_messages_are_in_work_at_once_than_the_limit() {
    let (site, receiver) = (Site::fresh().await, Receiver::<Sqlite>::fresh().await);
    for number in 0..6 {
        site.publish(&number.to_string()).await;
    }
    let two = NonZeroU32::new(2).expect("not zero");
    let source = site.source().with_concurrency(two);
    let running = Running::start(source, receiver.consumer(|_| Act::Wait));
    for number in 2..=6 {
        receiver.called(number).await;
        receiver.open();
    }
    receiver.open();
    receiver.committed(6).await;
    running.stop().await;
    assert_eq!(receiver.most_at_once(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_body_outlasts_the_ack_wait_is_not_delivered_again() {
    let (site, receiver) = (Site::fresh().await, Receiver::<Sqlite>::fresh().await);
    let source = || site.source().with_concurrency(NonZeroU32::MIN);
    let wait = |_| Act::Wait;
    site.publish("long").await;
    let working = Running::start(source(), receiver.consumer(wait));
    receiver.called(1).await;
    // The end of another message's `ack_wait`, which began later, shows that this one's is over.
    site.publish("lost").await;
    let killed = Running::start(source(), receiver.consumer(wait));
    receiver.called(2).await;
    killed.kill().await;
    let next = Running::start(source(), receiver.consumer(|_| Act::Run));
    receiver.committed(1).await;
    assert_eq!(receiver.effects("lost").await, 1);
    assert_eq!(receiver.calls(), 3);
    receiver.open();
    receiver.committed(2).await;
    site.settled().await;
    working.stop().await;
    next.stop().await;
    assert_eq!((receiver.calls(), receiver.effects("long").await), (3, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_wait_for_their_next_attempt_stop_no_other_however_many() {
    const WAITING: u32 = 1_100;
    let (site, receiver) = (Site::fresh().await, Receiver::<Sqlite>::fresh().await);
    let act = |call| {
        if call < WAITING {
            Act::Say(Answer::retry(Duration::from_hours(1), "not yet"))
        } else {
            Act::Run
        }
    };
    for number in 0..WAITING {
        site.publish(&number.to_string()).await;
    }
    let running = Running::start(site.source(), receiver.consumer(act));
    receiver.called(WAITING).await;
    site.publish("next").await;
    receiver.committed(1).await;
    running.stop().await;
    assert_eq!(receiver.effects("next").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_waits_for_each_acknowledgement_and_has_a_limit_far_above_the_attempts() {
    let (site, receiver) = (Site::fresh().await, Receiver::<Sqlite>::fresh().await);
    let running = Running::start(site.source(), receiver.consumer(|_| Act::Run));
    site.publish("one").await;
    receiver.committed(1).await;
    running.stop().await;
    let stream = site.jetstream.get_stream(&site.stream).await;
    let consumer = stream.expect("it is there").get_consumer("receiver").await;
    let consumer: PullConsumer = consumer.expect("it is there");
    let config = &consumer.cached_info().config;
    assert_eq!(config.ack_policy, AckPolicy::Explicit);
    assert_eq!(config.ack_wait, Duration::from_secs(1));
    // The policy of the tests has three attempts.
    assert_eq!(config.max_deliver, 10_000);
}
