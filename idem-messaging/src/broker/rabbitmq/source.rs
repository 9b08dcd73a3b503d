//! Runs a consumer: receive, handle, and tell the broker.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use lapin::message::Delivery as Received;
use lapin::options::{
    BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions,
    ConfirmSelectOptions,
};
use lapin::types::{FieldTable, ShortString};
use lapin::{Channel, Connection, ConnectionProperties};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::confirm::{self, NotConfirmed};
use super::message;
use super::settings::{RabbitMqSource, RabbitMqSourceError};
use super::topology;
use crate::broker::closing::closed;
use crate::broker::pause::Pause;
use crate::broker::serve::serve;
use crate::broker::text;
use crate::inbox::{Consumer, Delivery, Handler, Verdict};

/// How long the source waits after the broker was lost, or did not take a message.
const AGAIN: Duration = Duration::from_secs(1);

/// The longest time until a connection is open and its queues are declared. Until then no heartbeat tells of a broker that
/// says nothing more.
const OPENED: Duration = Duration::from_secs(30);

impl RabbitMqSource {
    /// Declares the queues, receives messages and has `consumer` handle them until `shutdown` is ready, and then returns
    /// after the last handler has ended. Several processes may run the same source.
    ///
    /// After a lost connection it connects again. It logs a warning (target `idem`) if the broker may deliver a message again
    /// after its record is gone.
    ///
    /// # Errors
    /// [`RabbitMqSourceError`] if it cannot start. Later, it restores what breaks, and logs it.
    ///
    /// # Panics
    /// If the code that answers the broker panics. A panic of the handler is an answer of it.
    pub async fn run<H: Handler>(
        self,
        consumer: Consumer<H>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), RabbitMqSourceError> {
        self.check()?;
        let policy = consumer.policy();
        let window = self.window(policy.attempts(), policy.backoff());
        if let Err(short) = consumer.check_retention(window) {
            tracing::warn!(target: "idem", queue = self.queue, "{short}");
        }
        let first = Session::open(&self)
            .await
            .map_err(RabbitMqSourceError::RabbitMq)?;
        let (closing, closed) = watch::channel(false);
        let worker = Arc::new(RabbitMqWorker {
            source: self,
            consumer,
            pause: Pause::none(),
        });
        let mut sessions = std::pin::pin!(worker.sessions(first, closed));
        tokio::select! {
            () = &mut sessions => {}
            () = shutdown => {
                closing.send_replace(true);
                sessions.await;
            }
        }
        Ok(())
    }
}

/// A connection, and the consumer on it.
struct Session {
    connection: Connection,
    channel: Channel,
    deliveries: lapin::Consumer,
}

impl Session {
    async fn open(source: &RabbitMqSource) -> lapin::Result<Self> {
        let opened = timeout(OPENED, Self::connect(source)).await;
        opened.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
    }

    async fn connect(source: &RabbitMqSource) -> lapin::Result<Self> {
        let connection = Connection::connect(&source.uri, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        topology::declare(&channel, source).await?;
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await?;
        channel
            .basic_qos(source.concurrency.get(), BasicQosOptions::default())
            .await?;
        let deliveries = channel
            .basic_consume(
                source.queue.as_str().into(),
                ShortString::default(),
                BasicConsumeOptions::default(),
                FieldTable::default(),
            )
            .await?;
        Ok(Self {
            connection,
            channel,
            deliveries,
        })
    }
}

/// Why a session has ended although nobody asked for it.
#[derive(Debug, thiserror::Error)]
enum Lost {
    #[error(transparent)]
    Broker(lapin::Error),
    #[error("the broker has cancelled the consumer, for example because the queue was deleted")]
    Cancelled,
}

struct RabbitMqWorker<H> {
    source: RabbitMqSource,
    consumer: Consumer<H>,
    pause: Pause,
}

impl<H: Handler> RabbitMqWorker<H> {
    /// Runs one session after another until the source is told to stop.
    async fn sessions(self: &Arc<Self>, first: Session, mut closing: watch::Receiver<bool>) {
        let mut next = Ok(first);
        loop {
            let lost = match next {
                Ok(session) => self.session(session, &mut closing).await.err(),
                Err(error) => Some(Lost::Broker(error)),
            };
            let Some(error) = lost else { return };
            tracing::warn!(target: "idem", queue = self.source.queue, %error, "RabbitMQ is lost; connecting again");
            tokio::select! {
                biased;
                () = closed(&mut closing) => return,
                () = sleep(AGAIN) => {}
            }
            next = tokio::select! {
                biased;
                () = closed(&mut closing) => return,
                opened = Session::open(&self.source) => opened,
            };
        }
    }

    /// Runs until the source is told to stop, or until the connection is lost. Either way what runs is finished first.
    async fn session(
        self: &Arc<Self>,
        mut session: Session,
        closing: &mut watch::Receiver<bool>,
    ) -> Result<(), Lost> {
        let (ending, _) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let ended = loop {
            tokio::select! {
                biased;
                () = closed(closing) => break Ok(()),
                Some(done) = tasks.join_next() => raise(done),
                received = session.deliveries.next() => match received {
                    Some(Ok(received)) => {
                        let (worker, channel) = (Arc::clone(self), session.channel.clone());
                        let ending = ending.subscribe();
                        tasks.spawn(async move { worker.handle(&channel, received, ending).await });
                    }
                    Some(Err(error)) => break Err(Lost::Broker(error)),
                    None => break Err(Lost::Cancelled),
                },
            }
        };
        if ended.is_ok() {
            let tag = session.deliveries.tag();
            let cancelled = session
                .channel
                .basic_cancel(tag, BasicCancelOptions::default());
            if let Err(error) = cancelled.await {
                tracing::debug!(target: "idem", %error, "the consumer was not cancelled");
            }
        }
        ending.send_replace(true);
        while let Some(done) = tasks.join_next().await {
            raise(done);
        }
        // What the broker has sent and nobody has taken goes back to the queue.
        if let Err(error) = session.connection.close(200, "end".into()).await {
            tracing::debug!(target: "idem", %error, "the connection was not closed");
        }
        ended
    }

    /// Handles one message, and tells the broker. After an error the broker delivers it again.
    async fn handle(
        &self,
        channel: &Channel,
        received: Received,
        mut ending: watch::Receiver<bool>,
    ) {
        let used = message::attempts(&received);
        let mut delivery = Delivery::new(message::read(&received)).with_attempts(used);
        if message::was_parked(&received) {
            delivery = delivery.after_parking();
        }
        // A delivery stays this channel's until it is acknowledged: there is nothing to keep alive.
        let keep = pending::<Infallible>();
        let verdict = serve(&self.consumer, &delivery, &self.pause, &mut ending, keep).await;
        let queue = self.source.queue.as_str();
        let published = match verdict {
            None | Some(Verdict::Pause { .. }) => return give_back(&received).await,
            Some(Verdict::Ack) => Ok(()),
            Some(Verdict::Retry { after, attempts }) => {
                let to = topology::waiting(queue, self.source.rung(after));
                publish(channel, &received, &to, attempts, []).await
            }
            Some(Verdict::DeadLetter { reason, detail }) => {
                let said = [
                    (message::REASON, reason.as_str().to_owned()),
                    (message::DETAIL, text::header_value(&detail)),
                ];
                publish(channel, &received, &topology::dead(queue), used, said).await
            }
            Some(Verdict::Park { attempt_id, detail }) => {
                let said = [
                    (message::REASON, Verdict::OUTCOME_UNKNOWN.to_owned()),
                    (message::DETAIL, text::header_value(&detail)),
                    (message::ATTEMPT_ID, attempt_id.to_string()),
                ];
                let to = topology::parked(queue, self.source.parked_interval);
                publish(channel, &received, &to, used, said).await
            }
        };
        if let Err(error) = published {
            tracing::warn!(target: "idem", queue, %error, "a message could not be set aside; the broker delivers it again");
            tokio::select! {
                () = closed(&mut ending) => {}
                () = sleep(AGAIN) => {}
            }
            return give_back(&received).await;
        }
        if let Err(error) = received.acker.ack(BasicAckOptions::default()).await {
            tracing::debug!(target: "idem", queue, %error, "an acknowledgement was lost; the broker delivers again");
        }
    }
}

/// Publishes a message again to a queue of this source, and waits for the confirm. It is there before the message itself is
/// acknowledged, so that it may be twice, and never lost.
async fn publish(
    channel: &Channel,
    received: &Received,
    queue: &str,
    attempts: u32,
    said: impl IntoIterator<Item = (&'static str, String)>,
) -> Result<(), NotConfirmed> {
    let properties = message::again(received, attempts, said);
    let exchange = ShortString::default();
    let payload = &received.data;
    let limit = confirm::LIMIT;
    confirm::publish(channel, exchange, queue.into(), payload, properties, limit).await
}

async fn give_back(received: &Received) {
    let options = BasicNackOptions {
        requeue: true,
        ..BasicNackOptions::default()
    };
    if let Err(error) = received.acker.nack(options).await {
        tracing::debug!(target: "idem", %error, "a message was not given back; the broker takes it back itself");
    }
}

fn raise(done: Result<(), tokio::task::JoinError>) {
    if let Err(error) = done
        && let Ok(panic) = error.try_into_panic()
    {
        resume_unwind(panic);
    }
}
