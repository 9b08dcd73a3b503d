//! Links that are cut: to the broker at the confirm, and to the database at the settlement.

use std::time::Duration;

use idem_messaging::outbox::{Outbox, Relay, Swept};
use idem_tests::proxy::{Fate, Proxy, Route};
use idem_tests_messaging::brokers::{CUT, Port};
use idem_tests_messaging::fact::Fact;
use idem_tests_messaging::ledger::Ledger;
use sqlx::Pool;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::chain::{Chain, run_while};
use crate::halting::{Halt, Halting};
use crate::site::BrokerSite;
use crate::subject::{MySql, Postgres, Subject};

/// A database that is reached over a link.
pub(crate) trait LinkedSubject: Subject {
    type Options: Route;

    fn options(&self) -> &Self::Options;
    fn pool_by(options: Self::Options) -> Pool<Self::Db>;
}

impl LinkedSubject for Postgres {
    type Options = PgConnectOptions;

    fn options(&self) -> &PgConnectOptions {
        self.database.options()
    }

    fn pool_by(options: PgConnectOptions) -> Pool<sqlx::Postgres> {
        PgPoolOptions::new().connect_lazy_with(options)
    }
}

impl LinkedSubject for MySql {
    type Options = MySqlConnectOptions;

    fn options(&self) -> &MySqlConnectOptions {
        self.database.options()
    }

    fn pool_by(options: MySqlConnectOptions) -> Pool<sqlx::MySql> {
        MySqlPoolOptions::new().connect_lazy_with(options)
    }
}

pub(crate) async fn a_link_cut_at_the_confirm_uses_up_no_attempt_and_the_event_has_one_effect<
    S: Subject<Db: Ledger>,
    B: BrokerSite,
>() {
    let chain = Chain::<S, B>::fresh().await;
    let proxy = Proxy::to(&Port(chain.site.port())).await;
    let Port(port) = proxy.options();
    let publisher = Halting::new(B::publisher(port).await);
    let fact = CUT.trim_end_matches("\"}");
    B::cut_confirm(&proxy);
    chain.append(fact).await;
    let relay = chain
        .relay(publisher.clone())
        .keep_for(Duration::from_hours(1));
    let swept = run_while::<S, _>(relay, async {
        proxy.reached().await;
        publisher.until_failed(1).await;
        chain.until_all_have_left().await;
    })
    .await;
    assert_eq!((swept.published, swept.retried, swept.dead), (1, 0, 0));
    let once = "SELECT count(*) FROM idem_outbox WHERE state = 1 AND attempts = 1";
    assert_eq!(chain.subject.number(once).await, 1);
    let deliveries = if B::KEEPS_REPETITIONS { 3 } else { 2 };
    chain.receiver.committed(deliveries).await;
    chain.end(&[fact]).await;
}

/// Runs a relay whose link to the database has this fate at the settlement of its only event.
async fn settle_over<S: LinkedSubject<Db: Ledger>, B: BrokerSite>(fate: Fate) -> Swept {
    let chain = Chain::<S, B>::fresh().await;
    let publisher = chain.publisher().await;
    publisher.halt(&Fact::json("one"), Halt::After);
    chain.append("one").await;
    let proxy = Proxy::to(chain.subject.options()).await;
    // With room for one event it claims nothing while that one is under way: its next COMMIT is the settlement's.
    let pool = S::pool_by(proxy.options());
    let relay = Relay::new(pool, &Outbox::new(), publisher.clone())
        .lease(Duration::from_hours(1))
        .batch(1);
    let swept = run_while::<S, _>(relay, async {
        publisher.until_halted().await;
        proxy.next_commit(fate);
        publisher.go_on();
        proxy.reached().await;
        chain.until_all_have_left().await;
    })
    .await;
    chain.receiver.committed(2).await;
    assert_eq!(chain.receiver.calls(), 2, "it was published once");
    chain.end(&["one"]).await;
    swept
}

pub(crate) async fn a_link_to_the_database_cut_at_the_settlement_repeats_the_settlement_and_no_event<
    S: LinkedSubject<Db: Ledger>,
    B: BrokerSite,
>() {
    let swept = settle_over::<S, B>(Fate::CutBefore).await;
    assert_eq!((swept.published, swept.fenced), (1, 0));
}

pub(crate) async fn an_answer_to_the_settlement_that_is_lost_repeats_no_event<
    S: LinkedSubject<Db: Ledger>,
    B: BrokerSite,
>() {
    let swept = settle_over::<S, B>(Fate::CutAnswer).await;
    // Its row is gone, so that the repeated settlement finds nothing of its token.
    assert_eq!((swept.published, swept.fenced), (0, 1));
}
