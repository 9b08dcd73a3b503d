//! Brokers that are killed and started again while a relay publishes. One restart serves all databases.

use std::time::Duration;

use idem_messaging::outbox::Swept;
use idem_tests::patience::in_time;
use idem_tests_cluster::broker::{NatsServer, RabbitMqServer};
use idem_tests_messaging::fact::Fact;
use idem_tests_messaging::ledger::Ledger;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::chain::Chain;
use crate::halting::{Halt, Halting};
use crate::site::BrokerSite;
use crate::subject::{MySql, Postgres, Sqlite, Subject};
use crate::{nats, rabbitmq};

/// A relay that has claimed an event and not published it when its broker is lost.
struct Interrupted<S: Subject<Db: Ledger>, B: BrokerSite> {
    chain: Chain<S, B>,
    publisher: Halting<B::Publisher>,
    stop: oneshot::Sender<()>,
    relaying: JoinHandle<Swept>,
}

impl<S: Subject<Db: Ledger>, B: BrokerSite> Interrupted<S, B> {
    async fn begin(port: u16) -> Self {
        let chain = Chain::of(S::fresh().await, B::at(port).await).await;
        let publisher = chain.publisher().await;
        publisher.halt(&Fact::json("one"), Halt::Before);
        chain.append("one").await;
        let (stop, stopped) = oneshot::channel();
        let relay = chain
            .relay(publisher.clone())
            .keep_for(Duration::from_hours(1));
        let relaying = tokio::spawn(relay.run(stopped));
        publisher.until_halted().await;
        Self {
            chain,
            publisher,
            stop,
            relaying,
        }
    }

    /// Has the relay publish while nobody is there.
    async fn fail(&self) {
        self.publisher.go_on();
        self.publisher.until_failed(1).await;
        self.chain.append("two").await;
    }

    async fn end(self) {
        self.chain.until_all_have_left().await;
        self.chain.receiver.committed(3).await;
        drop(self.stop);
        let swept = in_time("the relay stops", self.relaying).await;
        let swept = swept.expect("it does not panic");
        assert_eq!((swept.published, swept.retried, swept.dead), (2, 0, 0));
        let once = "SELECT count(*) FROM idem_outbox WHERE state = 1 AND attempts = 1";
        assert_eq!(self.chain.subject.number(once).await, 2);
        self.chain.end(&["first", "one", "two"]).await;
    }
}

/// The chain of each database, with one broker.
struct Three<B: BrokerSite>(
    Interrupted<Postgres, B>,
    Interrupted<MySql, B>,
    Interrupted<Sqlite, B>,
);

impl<B: BrokerSite> Three<B> {
    async fn begin(port: u16) -> Self {
        let (postgres, mysql, sqlite) = tokio::join!(
            Box::pin(Interrupted::begin(port)),
            Box::pin(Interrupted::begin(port)),
            Box::pin(Interrupted::begin(port))
        );
        Self(postgres, mysql, sqlite)
    }

    async fn fail(&self) {
        tokio::join!(self.0.fail(), self.1.fail(), self.2.fail());
    }

    async fn end(self) {
        let ends = (
            Box::pin(self.0.end()),
            Box::pin(self.1.end()),
            Box::pin(self.2.end()),
        );
        tokio::join!(ends.0, ends.1, ends.2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nats_server_that_is_restarted_uses_up_no_attempt_and_each_event_has_one_effect() {
    let mut server = NatsServer::start().expect("a server");
    let three = Three::<nats::Site>::begin(server.port()).await;
    server.kill().expect("killed");
    three.fail().await;
    server.restart().expect("restarted");
    three.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rabbitmq_server_that_is_restarted_uses_up_no_attempt_and_each_event_has_one_effect() {
    let mut server = RabbitMqServer::start().expect("a server");
    let three = Three::<rabbitmq::Site>::begin(server.port()).await;
    server.kill().expect("killed");
    three.fail().await;
    server.restart().expect("restarted");
    three.end().await;
}
