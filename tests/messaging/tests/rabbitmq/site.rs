//! A queue with its dead letters, and a source on it.

use std::time::Duration;

use idem_messaging::broker::rabbitmq::RabbitMqSource;
use idem_messaging::inbox::{Consumer, Handler};
use idem_tests::patience::in_time;
use idem_tests_messaging::brokers::{self, fresh};
use idem_tests_messaging::fact::Fact;
use lapin::message::BasicGetMessage;
use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How often a parked message comes back, in milliseconds.
pub(crate) const PARKED_INTERVAL: u64 = 25;

pub(crate) struct Site {
    pub(crate) port: u16,
    pub(crate) queue: String,
}

/// A connection and its channel in confirm mode.
pub(crate) struct Link {
    pub(crate) connection: Connection,
    pub(crate) channel: Channel,
}

impl Site {
    pub(crate) fn fresh() -> Self {
        Self::at(brokers::rabbitmq())
    }

    pub(crate) fn at(port: u16) -> Self {
        let queue = fresh("facts");
        Self { port, queue }
    }

    pub(crate) fn source(&self) -> RabbitMqSource {
        RabbitMqSource::new(uri(self.port), self.queue.clone())
            .with_ladder([5, 20].map(Duration::from_millis))
            .with_parked_interval(Duration::from_millis(PARKED_INTERVAL))
            .with_binding("amq.topic", self.queue.clone())
    }

    pub(crate) async fn link(&self) -> Link {
        in_time("a connection", connect(self.port)).await
    }

    /// Publishes a fact, after the source has declared the queue.
    pub(crate) async fn publish(&self, fact: &str) {
        self.publish_as(fact, &fresh("id")).await;
    }

    /// Publishes a fact so often, over one connection.
    pub(crate) async fn publish_often(&self, fact: &str, times: usize) {
        let link = self.link().await;
        for _ in 0..times {
            self.publish_over(&link, fact, &fresh("id")).await;
        }
    }

    /// Publishes a fact under an id of the broker.
    pub(crate) async fn publish_as(&self, fact: &str, id: &str) {
        self.publish_over(&self.link().await, fact, id).await;
    }

    async fn publish_over(&self, link: &Link, fact: &str, id: &str) {
        in_time("the queue takes it", async {
            loop {
                let options = BasicPublishOptions {
                    mandatory: true,
                    ..BasicPublishOptions::default()
                };
                let (exchange, queue) = ("".into(), self.queue.as_str().into());
                let payload = Fact::json(fact);
                let properties = BasicProperties::default()
                    .with_expiration("60000".into())
                    .with_message_id(id.into());
                let confirm = link
                    .channel
                    .basic_publish(exchange, queue, options, payload.as_bytes(), properties)
                    .await
                    .expect("sent");
                if confirm.await.expect("an answer") == Confirmation::Ack(None) {
                    return;
                }
            }
        })
        .await;
    }

    /// Waits until a queue of the source is empty, and nobody has a message of it in hand.
    pub(crate) async fn settled(&self) {
        let mut queues = vec![self.queue.clone()];
        queues.extend([5, 20].map(|step| format!("{}.wait.{step}ms", self.queue)));
        queues.push(format!("{}.parked.{PARKED_INTERVAL}ms", self.queue));
        in_time("the messages are settled", async {
            while !self.all_empty(&queues).await {}
        })
        .await;
    }

    async fn all_empty(&self, queues: &[String]) -> bool {
        for queue in queues {
            if self.count(queue).await != 0 {
                return false;
            }
        }
        true
    }

    /// Returns the messages that wait in a queue.
    async fn count(&self, queue: &str) -> u32 {
        let link = self.link().await;
        let options = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let declared = link
            .channel
            .queue_declare(queue.into(), options, FieldTable::default())
            .await;
        declared.expect("it is there").message_count()
    }

    pub(crate) async fn dead_letters(&self) -> u32 {
        self.count(&format!("{}.dead", self.queue)).await
    }

    /// Waits for a dead letter, and takes it.
    pub(crate) async fn dead_letter(&self) -> BasicGetMessage {
        let link = self.link().await;
        let dead = format!("{}.dead", self.queue);
        in_time("a dead letter", async {
            loop {
                let options = BasicGetOptions { no_ack: true };
                let got = link.channel.basic_get(dead.as_str().into(), options).await;
                if let Some(letter) = got.expect("an answer") {
                    return letter;
                }
            }
        })
        .await
    }
}

pub(crate) fn uri(port: u16) -> String {
    format!("amqp://guest:guest@127.0.0.1:{port}/%2f")
}

async fn connect(port: u16) -> Link {
    let properties = ConnectionProperties::default();
    let connection = Connection::connect(&uri(port), properties).await;
    let connection = connection.expect("a connection");
    let channel = connection.create_channel().await.expect("a channel");
    let confirms = channel.confirm_select(ConfirmSelectOptions::default());
    confirms.await.expect("confirm mode");
    Link {
        connection,
        channel,
    }
}

/// A source that runs.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) fn start<H: Handler>(source: RabbitMqSource, consumer: Consumer<H>) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            source.run(consumer, stopped).await.expect("it starts");
        });
        Self { stop, task }
    }

    /// Stops it, and waits until it has ended.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        in_time("the source ends", self.task)
            .await
            .expect("it ends well");
    }

    /// Ends it as the end of its process would.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let ended = in_time("the task ends", self.task).await;
        assert!(ended.is_err_and(|error| error.is_cancelled()));
    }
}
