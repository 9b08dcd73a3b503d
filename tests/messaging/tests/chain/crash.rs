//! Databases that crash.

use idem_tests::gate::{Gate, GatePoint};
use idem_tests::{mysql, postgres};
use idem_tests_messaging::brokers::fresh;
use idem_tests_messaging::fact::Fact;
use idem_tests_messaging::ledger::Ledger;
use tokio::fs;

use crate::chain::{Chain, key_of, run_while, sweep};
use crate::halting::Halt;
use crate::site::BrokerSite;
use crate::subject::{MySql, Postgres, Sqlite, Subject};
use crate::{nats, rabbitmq};

/// A database on a server of its own, which can be killed.
pub(crate) trait CrashingSubject: Subject {
    type Server;

    fn start() -> Self::Server;
    async fn on(server: &Self::Server) -> Self;
    fn crash(server: &mut Self::Server);
    fn recover(server: &mut Self::Server);
}

impl CrashingSubject for Postgres {
    type Server = postgres::Cluster;

    fn start() -> postgres::Cluster {
        // A claim that the crash undid would be made again.
        let options = postgres::Options::new().durable();
        postgres::Cluster::start(options).expect("a server")
    }

    async fn on(server: &postgres::Cluster) -> Self {
        Self::of(postgres::Database::fresh_on(server).await).await
    }

    fn crash(server: &mut postgres::Cluster) {
        server.stop_immediate().expect("killed");
    }

    fn recover(server: &mut postgres::Cluster) {
        server.resume().expect("recovered");
    }
}

impl CrashingSubject for MySql {
    type Server = mysql::Server;

    fn start() -> mysql::Server {
        mysql::Server::start(&mysql::Options::new()).expect("a server")
    }

    async fn on(server: &mysql::Server) -> Self {
        Self::of(mysql::Database::fresh_on(server).await).await
    }

    fn crash(server: &mut mysql::Server) {
        server.kill().expect("killed");
    }

    fn recover(server: &mut mysql::Server) {
        server.resume().expect("recovered");
    }
}

pub(crate) async fn a_database_that_crashes_at_the_settlement_and_in_a_body_loses_and_doubles_nothing<
    S: CrashingSubject<Db: Ledger>,
    B: BrokerSite,
>() {
    let mut server = S::start();
    let chain = Chain::<S, B>::of(S::on(&server).await, B::fresh().await).await;
    let publisher = chain.publisher().await;
    // Gates are named by key, and all tests may run in one process.
    let fact = fresh("one");
    let gate = Gate::at(&key_of(&fact), GatePoint::AfterWrite);
    publisher.halt(&Fact::json(&fact), Halt::After);
    chain.append(&fact).await;
    let relay = chain.relay(publisher.clone());
    let swept = run_while::<S, _>(relay, async {
        // The broker has the event, its row is to be settled, and the consumer's body has written.
        publisher.until_halted().await;
        gate.entered().await;
        S::crash(&mut server);
        publisher.go_on();
        drop(gate);
        S::recover(&mut server);
        chain.receiver.committed(2).await;
        chain.until_all_have_left().await;
    })
    .await;
    // The relay lived on, and knew what to settle.
    assert_eq!((swept.published, swept.fenced), (1, 0));
    chain.end(&[&fact]).await;
    drop(server);
}

impl Sqlite {
    /// Returns the database as the end of this process would leave it: the files as they are at this moment.
    async fn crashed(&self) -> Self {
        let left = idem_tests::sqlite::Sqlite::fresh(idem_tests::sqlite::Journal::Wal);
        for suffix in ["", "-wal"] {
            let name = |path: std::path::PathBuf| format!("{}{suffix}", path.display());
            let copied = fs::copy(name(self.database.path()), name(left.path())).await;
            copied.expect("a copy");
        }
        Self::of(left).await
    }
}

/// SQLite has no server: it ends with the process, and the relay and the consumer with it.
async fn a_process_that_ends_at_the_settlement_and_in_a_body_loses_and_doubles_nothing<
    B: BrokerSite,
>() {
    let chain = Chain::<Sqlite, B>::fresh().await;
    let publisher = chain.publisher().await;
    let fact = fresh("one");
    let gate = Gate::at(&key_of(&fact), GatePoint::AfterWrite);
    publisher.halt(&Fact::json(&fact), Halt::After);
    chain.append(&fact).await;
    let relay = chain.relay(publisher.clone());
    let left = tokio::select! {
        swept = relay.sweep() => panic!("it was to be killed: {swept:?}"),
        left = async {
            publisher.until_halted().await;
            gate.entered().await;
            chain.subject.crashed().await
        } => left,
    };
    let Chain { site, running, .. } = chain;
    B::kill(running).await;
    drop(gate);
    let chain = Chain::again(left, site);
    assert_eq!(chain.pending().await, 1, "its row was not settled");
    chain.subject.pass_time().await;
    let swept = sweep::<Sqlite, _>(&chain.relay(publisher)).await;
    assert_eq!(swept.published, 1);
    let deliveries = if B::KEEPS_REPETITIONS { 2 } else { 1 };
    chain.receiver.committed(deliveries).await;
    chain.end(&["first", &fact]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_nats() {
    a_process_that_ends_at_the_settlement_and_in_a_body_loses_and_doubles_nothing::<nats::Site>()
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_rabbitmq() {
    a_process_that_ends_at_the_settlement_and_in_a_body_loses_and_doubles_nothing::<rabbitmq::Site>(
    )
    .await;
}
