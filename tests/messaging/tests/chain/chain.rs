//! From an append to its effect.

use std::sync::Arc;
use std::time::Duration;

use idem_messaging::inbox::Message;
use idem_messaging::outbox::{Event, EventId, Outbox, Publisher, Relay, Swept};
use idem_tests::patience::in_time;
use idem_tests_messaging::fact::Fact;
use idem_tests_messaging::ledger::Ledger;
use idem_tests_messaging::receiver::{Act, Receiver, message_key};
use tokio::sync::oneshot;

use crate::halting::Halting;
use crate::site::BrokerSite;
use crate::subject::{Subject, builder};

/// An outbox, a broker, and a consumer whose effects are in the outbox's database.
pub(crate) struct Chain<S: Subject<Db: Ledger>, B: BrokerSite> {
    pub(crate) subject: S,
    pub(crate) outbox: Outbox,
    pub(crate) site: B,
    pub(crate) receiver: Arc<Receiver<S::Db>>,
    pub(crate) running: B::Running,
}

impl<S: Subject<Db: Ledger>, B: BrokerSite> Chain<S, B> {
    /// A chain whose consumer has had one fact, so that all it needs is there.
    pub(crate) async fn fresh() -> Self {
        Self::of(S::fresh().await, B::fresh().await).await
    }

    pub(crate) async fn of(subject: S, site: B) -> Self {
        let receiver = Receiver::on(subject.pool().clone()).await;
        let chain = Self::run(subject, site, receiver);
        chain.site.publish("first").await;
        chain.receiver.committed(1).await;
        chain
    }

    /// Goes on where a process has ended.
    pub(crate) fn again(subject: S, site: B) -> Self {
        let receiver = Receiver::again_on(subject.pool().clone());
        Self::run(subject, site, receiver)
    }

    fn run(subject: S, site: B, receiver: Arc<Receiver<S::Db>>) -> Self {
        let running = site.start(receiver.consumer(|_| Act::Run));
        Self {
            subject,
            outbox: Outbox::new(),
            site,
            receiver,
            running,
        }
    }

    /// A publisher straight to the broker.
    pub(crate) async fn publisher(&self) -> Halting<B::Publisher> {
        Halting::new(B::publisher(self.site.port()).await)
    }

    pub(crate) fn event(&self, fact: &str) -> Event {
        event(&self.site.topic(), fact)
    }

    pub(crate) async fn append(&self, fact: &str) -> EventId {
        self.subject.append(&self.outbox, self.event(fact)).await
    }

    /// A relay whose times no law waits for.
    pub(crate) fn relay<P: Publisher>(&self, publisher: P) -> Relay<S::Db, P> {
        relay::<S, P>(&self.subject, &self.outbox, publisher)
    }

    /// Returns the number of events that have not left.
    pub(crate) async fn pending(&self) -> i64 {
        let pending = "SELECT count(*) FROM idem_outbox WHERE state <> 1";
        self.subject.number(pending).await
    }

    pub(crate) async fn until_all_have_left(&self) {
        in_time("every event leaves", async {
            while self.pending().await != 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Stops the consumer, and checks that nothing is left and that each fact has had its effect once.
    pub(crate) async fn end(self, facts: &[&str]) {
        self.site.settled().await;
        B::stop(self.running).await;
        for fact in facts {
            assert_eq!(self.receiver.effects(fact).await, 1, "{fact}");
        }
        assert_eq!(self.site.dead_letters().await, 0);
        let pending = "SELECT count(*) FROM idem_outbox WHERE state <> 1";
        assert_eq!(self.subject.number(pending).await, 0);
    }
}

/// An event that tells a fact, of the partition of all facts.
pub(crate) fn event(topic: &str, fact: &str) -> Event {
    let event = builder(fact)
        .topic(topic)
        .partition_key("facts")
        .payload("application/json", Fact::json(fact));
    event.build().expect("an acceptable event")
}

pub(crate) fn relay<S: Subject, P: Publisher>(
    subject: &S,
    outbox: &Outbox,
    publisher: P,
) -> Relay<S::Db, P> {
    Relay::new(subject.pool().clone(), outbox, publisher)
        .publish_timeout(Duration::from_mins(10))
        .lease(Duration::from_hours(1))
        .idle_interval(Duration::from_millis(20))
}

/// Publishes what is due.
pub(crate) async fn sweep<S: Subject, P: Publisher>(relay: &Relay<S::Db, P>) -> Swept {
    let swept = in_time("a sweep", relay.sweep()).await;
    swept.expect("swept")
}

/// Runs a relay until `work` has come to its end.
pub(crate) async fn run_while<S: Subject, P: Publisher>(
    relay: Relay<S::Db, P>,
    work: impl Future<Output = ()>,
) -> Swept {
    let (stop, stopped) = oneshot::channel::<()>();
    let work = async {
        work.await;
        drop(stop);
    };
    let both = Box::pin(async { tokio::join!(relay.run(stopped), work) });
    let (swept, ()) = in_time("the relay stops", both).await;
    swept
}

/// Returns the key of a fact's message.
pub(crate) fn key_of(fact: &str) -> String {
    let message = Message::new(Fact::json(fact));
    let key = message_key().of(&message).expect("a key");
    key.as_str().to_owned()
}
