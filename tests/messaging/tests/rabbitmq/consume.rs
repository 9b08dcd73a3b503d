//! Consuming from RabbitMQ.

use idem_messaging::inbox::Answer;
use idem_tests_cluster::broker::RabbitMqServer;
use idem_tests_messaging::receiver::{Act, Receiver};
use lapin::types::AMQPValue;

use super::site::{Running, Site};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_delivered_a_hundred_times_to_eight_consumers_has_one_effect() {
    let (site, receiver) = (Site::fresh(), Receiver::fresh().await);
    let mut sources = Vec::new();
    for _ in 0..8 {
        sources.push(Running::start(
            site.source(),
            receiver.consumer(|_| Act::Run),
        ));
    }
    for _ in 0..100 {
        site.publish("one").await;
    }
    receiver.called(100).await;
    receiver.committed(100).await;
    for source in sources {
        source.stop().await;
    }
    site.settled().await;
    assert_eq!(receiver.effects("one").await, 1);
    assert_eq!(site.dead_letters().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_killed_between_commit_and_ack_is_answered_from_the_record() {
    let (site, receiver) = (Site::fresh(), Receiver::fresh().await);
    let killed = Running::start(site.source(), receiver.consumer(|_| Act::RunAndHang));
    site.publish("one").await;
    receiver.committed(1).await;
    killed.kill().await;
    let next = Running::start(site.source(), receiver.consumer(|_| Act::Run));
    receiver.committed(2).await;
    next.stop().await;
    site.settled().await;
    assert_eq!(receiver.effects("one").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_restarted_delivers_what_was_not_acknowledged_and_has_one_effect() {
    let mut server = RabbitMqServer::start().expect("a server");
    let (site, receiver) = (Site::at(server.port()), Receiver::fresh().await);
    let act = |call| if call == 0 { Act::Wait } else { Act::Run };
    let running = Running::start(site.source(), receiver.consumer(act));
    site.publish("one").await;
    receiver.called(1).await;
    server.kill().expect("killed");
    // The effect is committed while nobody can be told.
    receiver.open();
    receiver.committed(1).await;
    server.restart().expect("restarted");
    receiver.committed(2).await;
    site.publish("two").await;
    receiver.committed(3).await;
    running.stop().await;
    site.settled().await;
    assert_eq!(receiver.effects("one").await, 1);
    assert_eq!(receiver.effects("two").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_handlers_own_is_tried_again_until_it_is_a_dead_letter() {
    let (site, receiver) = (Site::fresh(), Receiver::fresh().await);
    let failed = |_| Act::Say(Answer::failed("no such\r\ncase"));
    let running = Running::start(site.source(), receiver.consumer(failed));
    site.publish("one").await;
    let letter = site.dead_letter().await;
    running.stop().await;
    assert_eq!(receiver.calls(), 3);
    let headers = letter.properties.headers().clone().expect("headers");
    let text = |name: &str| match headers.inner().get(name) {
        Some(AMQPValue::LongString(text)) => text.to_string(),
        other => panic!("{name} is {other:?}"),
    };
    assert_eq!(text("x-idem-reason"), "attempts_used_up");
    assert_eq!(text("x-idem-detail"), "attempt 3 of 3: no such  case");
    assert_eq!(text("x-idem-topic"), site.queue);
    assert_eq!(letter.data, br#"{"id":"one"}"#);
    assert_eq!(
        *letter.properties.expiration(),
        None,
        "a dead letter does not expire"
    );
    site.settled().await;
    assert_eq!(site.dead_letters().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_uses_up_no_attempt() {
    let (site, receiver) = (Site::fresh(), Receiver::fresh().await);
    let act = |call| match call {
        0 | 21 => Act::Say(Answer::failed("a fault")),
        1..=20 => Act::Say(Answer::unavailable("no database")),
        _ => Act::Run,
    };
    let running = Running::start(site.source(), receiver.consumer(act));
    site.publish("one").await;
    receiver.committed(1).await;
    running.stop().await;
    site.settled().await;
    assert_eq!(receiver.effects("one").await, 1);
    assert_eq!(site.dead_letters().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_stops_finishes_what_runs() {
    let (site, receiver) = (Site::fresh(), Receiver::fresh().await);
    let running = Running::start(site.source(), receiver.consumer(|_| Act::Wait));
    site.publish("one").await;
    receiver.called(1).await;
    tokio::join!(running.stop(), async { receiver.open() });
    assert_eq!(receiver.effects("one").await, 1);
    site.settled().await;
    assert_eq!(receiver.calls(), 1);
}
