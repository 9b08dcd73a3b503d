//! Consuming from RabbitMQ.

use std::sync::Arc;

use idem_messaging::inbox::Answer;
use idem_tests_cluster::broker::RabbitMqServer;
use idem_tests_messaging::ledger::Ledger;
use idem_tests_messaging::receiver::{Act, Receiver};
use lapin::types::AMQPValue;
use sqlx::{MySql, Postgres, Sqlite};

use super::site::{Running, Site};

pub(crate) async fn a_message_delivered_a_hundred_times_to_eight_consumers_has_one_effect<
    D: Ledger,
>() {
    let (site, receiver) = (Site::fresh(), Receiver::<D>::fresh().await);
    let mut sources = Vec::new();
    for _ in 0..8 {
        sources.push(Running::start(
            site.source(),
            receiver.consumer(|_| Act::Run),
        ));
    }
    site.publish_often("one", 100).await;
    receiver.called(100).await;
    receiver.committed(100).await;
    for source in sources {
        source.stop().await;
    }
    site.settled().await;
    assert_eq!(receiver.effects("one").await, 1);
    assert_eq!(site.dead_letters().await, 0);
}

pub(crate) async fn a_consumer_killed_between_commit_and_ack_is_answered_from_the_record<
    D: Ledger,
>() {
    let (site, receiver) = (Site::fresh(), Receiver::<D>::fresh().await);
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

/// A consumer whose broker is lost while it handles a message.
struct Interrupted<D: Ledger> {
    site: Site,
    receiver: Arc<Receiver<D>>,
    running: Running,
}

impl<D: Ledger> Interrupted<D> {
    async fn begin(port: u16) -> Self {
        let (site, receiver) = (Site::at(port), Receiver::<D>::fresh().await);
        let act = |call| if call == 0 { Act::Wait } else { Act::Run };
        let running = Running::start(site.source(), receiver.consumer(act));
        site.publish("one").await;
        receiver.called(1).await;
        Self {
            site,
            receiver,
            running,
        }
    }

    /// Commits the effect while nobody can be told.
    async fn commit(&self) {
        self.receiver.open();
        self.receiver.committed(1).await;
    }

    async fn end(self) {
        self.receiver.committed(2).await;
        self.site.publish("two").await;
        self.receiver.committed(3).await;
        self.running.stop().await;
        self.site.settled().await;
        assert_eq!(self.receiver.effects("one").await, 1);
        assert_eq!(self.receiver.effects("two").await, 1);
    }
}

/// One restart for all databases: a server takes seconds to start.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_restarted_delivers_what_was_not_acknowledged_and_has_one_effect() {
    let mut server = RabbitMqServer::start().expect("a server");
    let port = server.port();
    let (postgres, mysql, sqlite) = tokio::join!(
        Interrupted::<Postgres>::begin(port),
        Interrupted::<MySql>::begin(port),
        Interrupted::<Sqlite>::begin(port)
    );
    server.kill().expect("killed");
    tokio::join!(postgres.commit(), mysql.commit(), sqlite.commit());
    server.restart().expect("restarted");
    tokio::join!(postgres.end(), mysql.end(), sqlite.end());
}

pub(crate) async fn an_error_of_the_handlers_own_is_tried_again_until_it_is_a_dead_letter<
    D: Ledger,
>() {
    let (site, receiver) = (Site::fresh(), Receiver::<D>::fresh().await);
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

pub(crate) async fn a_database_that_is_away_uses_up_no_attempt<D: Ledger>() {
    let (site, receiver) = (Site::fresh(), Receiver::<D>::fresh().await);
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

pub(crate) async fn a_source_that_stops_finishes_what_runs<D: Ledger>() {
    let (site, receiver) = (Site::fresh(), Receiver::<D>::fresh().await);
    let running = Running::start(site.source(), receiver.consumer(|_| Act::Wait));
    site.publish("one").await;
    receiver.called(1).await;
    tokio::join!(running.stop(), async { receiver.open() });
    assert_eq!(receiver.effects("one").await, 1);
    site.settled().await;
    assert_eq!(receiver.calls(), 1);
}
