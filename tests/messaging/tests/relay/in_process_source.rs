//! Consumers of the broker in this process.

use std::time::Duration;

use idem_messaging::inbox::{Answer, Consumer, Handler, MessageKey};
use idem_messaging::outbox::{
    EventId, InProcess, Outbox, PublishError, Relay, Subscription, Swept,
};
use idem_tests::patience::in_time;
use idem_tests_messaging::fact::Fact;
use idem_tests_messaging::mailer::{Mail, Mailer, Settlement};
use idem_tests_messaging::receiver::{Act, Receiver};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::subject::{DEAD, PENDING, Sqlite, Subject, builder};

/// An outbox whose relay publishes to a broker in this process.
struct Site {
    subject: Sqlite,
    outbox: Outbox,
    broker: InProcess,
    relay: Relay<sqlx::Sqlite, InProcess>,
}

impl Site {
    async fn fresh() -> Self {
        let (subject, outbox, broker) = (Sqlite::fresh().await, Outbox::new(), InProcess::new());
        let hour = Duration::from_hours(1);
        let relay = Relay::new(subject.pool().clone(), &outbox, broker.clone())
            .publish_timeout(Duration::from_mins(10))
            .lease(hour)
            .backoff(hour, hour);
        Self {
            subject,
            outbox,
            broker,
            relay,
        }
    }

    fn subscribe(&self) -> Subscription {
        self.broker.subscribe("cases")
    }

    async fn append(&self, fact: &str) -> EventId {
        let payload = Fact::json(fact);
        let event = builder(fact).payload("application/json", payload).build();
        self.subject
            .append(&self.outbox, event.expect("an acceptable event"))
            .await
    }

    async fn sweep(&self) -> Swept {
        let swept = in_time("a sweep", self.relay.sweep()).await;
        swept.expect("swept")
    }

    /// Returns the number of events that are dead with an error that begins so.
    async fn dead_as(&self, error: &str) -> i64 {
        let dead = format!(
            "SELECT count(*) FROM idem_outbox WHERE state = {DEAD} AND last_error LIKE '{error}:%'"
        );
        self.subject.number(&dead).await
    }
}

/// A consumer that runs.
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    fn start(subscription: Subscription, consumer: Consumer<impl Handler>) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let task = tokio::spawn(subscription.run(consumer, stopped));
        Self { stop, task }
    }

    async fn stop(self) {
        drop(self.stop);
        in_time("the consumer ends", self.task)
            .await
            .expect("it ends well");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_published_once_each_consumer_has_handled_it() {
    let (site, one, two) = (
        Site::fresh().await,
        Receiver::<sqlx::Sqlite>::fresh().await,
        Receiver::<sqlx::Sqlite>::fresh().await,
    );
    site.append("one").await;
    let runs = [&one, &two]
        .map(|receiver| Running::start(site.subscribe(), receiver.consumer(|_| Act::Run)));
    assert_eq!(site.sweep().await.published, 1);
    for run in runs {
        run.stop().await;
    }
    assert_eq!((one.effects("one").await, two.effects("one").await), (1, 1));
    assert_eq!(site.subject.in_state(PENDING).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_handlers_own_is_tried_again_while_the_relay_waits() {
    let (site, receiver) = (Site::fresh().await, Receiver::<sqlx::Sqlite>::fresh().await);
    site.append("one").await;
    let act = |call| match call {
        0 => Act::Say(Answer::failed("a fault")),
        _ => Act::Run,
    };
    let running = Running::start(site.subscribe(), receiver.consumer(act));
    let swept = site.sweep().await;
    assert_eq!((swept.published, swept.retried), (1, 0));
    running.stop().await;
    assert_eq!((receiver.calls(), receiver.effects("one").await), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_uses_up_no_attempt_of_an_event() {
    let (site, receiver) = (Site::fresh().await, Receiver::<sqlx::Sqlite>::fresh().await);
    site.append("one").await;
    let act = |call| match call {
        0 => Act::Say(Answer::unavailable("no database")),
        _ => Act::Run,
    };
    let running = Running::start(site.subscribe(), receiver.consumer(act));
    let swept = site.sweep().await;
    assert_eq!((swept.released, swept.retried), (1, 0));
    site.subject.pass_time().await;
    assert_eq!(site.sweep().await.published, 1);
    running.stop().await;
    assert_eq!(receiver.effects("one").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_is_dead_in_the_outbox_and_the_other_consumer_has_it_all_the_same() {
    let (site, one, two) = (
        Site::fresh().await,
        Receiver::<sqlx::Sqlite>::fresh().await,
        Receiver::<sqlx::Sqlite>::fresh().await,
    );
    site.append("one").await;
    let refuses = |_| Act::Say(Answer::permanent("no such case"));
    let refusing = Running::start(site.subscribe(), one.consumer(refuses));
    let handling = Running::start(site.subscribe(), two.consumer(|_| Act::Run));
    assert_eq!(site.sweep().await.dead, 1);
    refusing.stop().await;
    handling.stop().await;
    assert_eq!(site.dead_as("permanent_failure").await, 1);
    assert_eq!(two.effects("one").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_event_that_is_requeued_after_a_resolve_gets_the_recorded_answer() {
    let (site, mailer) = (
        Site::fresh().await,
        Mailer::fresh(|_| Mail::SentUnknown).await,
    );
    let id = site.append("one").await;
    let consumer = mailer.consumer(MessageKey::cloud_event());
    let running = Running::start(site.subscribe(), consumer);
    assert_eq!(site.sweep().await.dead, 1);
    assert_eq!(site.dead_as("outcome_unknown").await, 1);
    mailer.settle(Settlement::Completed).await;
    let requeued = site.outbox.requeue(site.subject.pool(), &id).await;
    assert!(requeued.expect("requeued"));
    assert_eq!(site.sweep().await.published, 1);
    running.stop().await;
    assert_eq!((mailer.runs(), mailer.sent()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_one_subscriber_is_to_get_again_is_not_dead() {
    let site = Site::fresh().await;
    let (mut one, mut two) = (site.subscribe(), site.subscribe());
    site.append("one").await;
    let refuse = async {
        let delivered = one.next().await.expect("a delivery");
        delivered.refuse(PublishError::permanent("never"));
        let delivered = two.next().await.expect("a delivery");
        delivered.refuse(PublishError::retry("not yet"));
    };
    let (swept, ()) = tokio::join!(site.sweep(), refuse);
    assert_eq!((swept.dead, swept.retried), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_stops_finishes_what_runs() {
    let (site, receiver) = (Site::fresh().await, Receiver::<sqlx::Sqlite>::fresh().await);
    site.append("one").await;
    let running = Running::start(site.subscribe(), receiver.consumer(|_| Act::Wait));
    let stop = async {
        receiver.called(1).await;
        tokio::join!(running.stop(), async { receiver.open() });
    };
    let (swept, ()) = tokio::join!(site.sweep(), stop);
    assert_eq!((swept.published, receiver.effects("one").await), (1, 1));
}
