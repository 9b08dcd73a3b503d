//! Consuming from NATS JetStream.

use idem_messaging::inbox::Answer;
use idem_tests_cluster::broker::NatsServer;
use idem_tests_messaging::ledger::Ledger;
use idem_tests_messaging::receiver::{Act, Receiver};

use super::site::{Running, Site};

pub(crate) async fn a_message_delivered_a_hundred_times_to_eight_workers_has_one_effect<
    D: Ledger,
>() {
    let (site, receiver) = (Site::fresh().await, Receiver::<D>::fresh().await);
    for _ in 0..100 {
        site.publish("one").await;
    }
    let sources = [(), ()].map(|()| Running::start(site.source(), receiver.consumer(|_| Act::Run)));
    receiver.called(100).await;
    site.settled().await;
    for source in sources {
        source.stop().await;
    }
    assert_eq!(receiver.effects("one").await, 1);
    assert_eq!(site.dead_letters().await, 0);
}

pub(crate) async fn a_consumer_killed_between_commit_and_ack_is_answered_from_the_record<
    D: Ledger,
>() {
    let (site, receiver) = (Site::fresh().await, Receiver::<D>::fresh().await);
    site.publish("one").await;
    let killed = Running::start(site.source(), receiver.consumer(|_| Act::RunAndHang));
    receiver.committed(1).await;
    killed.kill().await;
    let next = Running::start(site.source(), receiver.consumer(|_| Act::Run));
    receiver.called(2).await;
    site.settled().await;
    next.stop().await;
    assert_eq!(receiver.effects("one").await, 1);
}

pub(crate) async fn a_broker_that_is_restarted_delivers_what_was_not_acknowledged_and_has_one_effect<
    D: Ledger,
>() {
    let mut server = NatsServer::start().expect("a server");
    let (site, receiver) = (Site::at(server.port()).await, Receiver::<D>::fresh().await);
    site.publish("one").await;
    let act = |call| if call == 0 { Act::Wait } else { Act::Run };
    let running = Running::start(site.source(), receiver.consumer(act));
    receiver.called(1).await;
    server.kill().expect("killed");
    // The effect is committed while nobody can be told.
    receiver.open();
    receiver.committed(1).await;
    server.restart().expect("restarted");
    site.publish("two").await;
    site.settled().await;
    running.stop().await;
    assert_eq!(receiver.effects("one").await, 1);
    assert_eq!(receiver.effects("two").await, 1);
}

pub(crate) async fn an_error_of_the_handlers_own_is_tried_again_until_it_is_a_dead_letter<
    D: Ledger,
>() {
    let (site, receiver) = (Site::fresh().await, Receiver::<D>::fresh().await);
    site.publish("one").await;
    let failed = |_| Act::Say(Answer::failed("no such\r\ncase"));
    let running = Running::start(site.source(), receiver.consumer(failed));
    receiver.called(3).await;
    site.settled().await;
    running.stop().await;
    assert_eq!(receiver.calls(), 3);
    let letter = site.last_dead_letter("attempts_used_up").await;
    let header = |name: &str| letter.headers.get(name).map(ToString::to_string);
    let detail = "attempt 3 of 3: no such  case";
    assert_eq!(header("idem-detail").as_deref(), Some(detail));
    assert_eq!(header("idem-subject"), Some(site.subject()));
    assert_eq!(&*letter.payload, br#"{"id":"one"}"#);
    assert_eq!(site.dead_letters().await, 1);
}

pub(crate) async fn a_database_that_is_away_uses_up_no_attempt<D: Ledger>() {
    let (site, receiver) = (Site::fresh().await, Receiver::<D>::fresh().await);
    site.publish("one").await;
    let act = |call| match call {
        0 | 21 => Act::Say(Answer::failed("a fault")),
        1..=20 => Act::Say(Answer::unavailable("no database")),
        _ => Act::Run,
    };
    let running = Running::start(site.source(), receiver.consumer(act));
    receiver.committed(1).await;
    site.settled().await;
    running.stop().await;
    assert_eq!(receiver.effects("one").await, 1);
    assert_eq!(site.dead_letters().await, 0);
}

pub(crate) async fn a_source_that_stops_finishes_what_runs<D: Ledger>() {
    let (site, receiver) = (Site::fresh().await, Receiver::<D>::fresh().await);
    site.publish("one").await;
    let running = Running::start(site.source(), receiver.consumer(|_| Act::Wait));
    receiver.called(1).await;
    let (stopped, ()) = tokio::join!(running.stop(), async { receiver.open() });
    let () = stopped;
    assert_eq!(receiver.effects("one").await, 1);
    site.settled().await;
    assert_eq!(receiver.calls(), 1);
}
