//! What the laws need of a broker.

use async_nats::jetstream::stream::Config;
use idem_messaging::broker::nats::NatsPublisher;
use idem_messaging::broker::rabbitmq::RabbitMqPublisher;
use idem_messaging::inbox::{Consumer, Handler};
use idem_messaging::outbox::Publisher;
use idem_tests::proxy::{Fate, Proxy};
use idem_tests_messaging::brokers::{self, CUT, Port};
use lapin::options::{BasicGetOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;

use crate::{nats, rabbitmq};

/// A place at a broker from which a consumer takes messages.
pub(crate) trait BrokerSite: Sized + Send + Sync + 'static {
    type Publisher: Publisher;
    type Running;

    /// Whether a message that is published twice is kept twice.
    const KEEPS_REPETITIONS: bool;

    /// A place at the run's server.
    async fn fresh() -> Self;
    /// A place at the server on this port.
    async fn at(port: u16) -> Self;
    fn port(&self) -> u16;
    /// The topic whose messages the consumer takes.
    fn topic(&self) -> String;
    /// A publisher to the server on this port.
    async fn publisher(port: u16) -> Self::Publisher;
    /// Cuts the link of a publisher in place of the confirm of the payload that ends in [`CUT`].
    fn cut_confirm(proxy: &Proxy<Port>);
    fn start<H: Handler>(&self, consumer: Consumer<H>) -> Self::Running;
    async fn stop(running: Self::Running);
    /// Ends it as the end of its process would.
    async fn kill(running: Self::Running);
    /// Publishes a fact without an outbox, once the consumer has begun.
    async fn publish(&self, fact: &str);
    /// Waits until the consumer has settled every message.
    async fn settled(&self);
    async fn dead_letters(&self) -> u64;
    /// Has the broker keep the messages of a topic that it has refused so far.
    async fn collect(&self, topic: &str);
    /// Returns id and payload of what was collected, in order.
    async fn collected(&self, topic: &str) -> Vec<(String, String)>;
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl BrokerSite for nats::Site {
    type Publisher = NatsPublisher;
    type Running = nats::Running;

    const KEEPS_REPETITIONS: bool = false;

    async fn fresh() -> Self {
        Self::fresh().await
    }

    async fn at(port: u16) -> Self {
        Self::at(port).await
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn topic(&self) -> String {
        self.subject()
    }

    async fn publisher(port: u16) -> NatsPublisher {
        NatsPublisher::new(nats::connect(port).await)
    }

    fn cut_confirm(proxy: &Proxy<Port>) {
        proxy.next_holding(CUT, Fate::CutAnswer);
    }

    fn start<H: Handler>(&self, consumer: Consumer<H>) -> nats::Running {
        nats::Running::start(self.source(), consumer)
    }

    async fn stop(running: nats::Running) {
        running.stop().await;
    }

    async fn kill(running: nats::Running) {
        running.kill().await;
    }

    async fn publish(&self, fact: &str) {
        self.publish(fact).await;
    }

    async fn settled(&self) {
        self.settled().await;
    }

    async fn dead_letters(&self) -> u64 {
        self.dead_letters().await
    }

    async fn collect(&self, topic: &str) {
        let config = Config {
            name: topic.to_owned(),
            subjects: vec![topic.to_owned()],
            ..Config::default()
        };
        let created = self.jetstream.create_stream(config).await;
        created.expect("a stream");
    }

    async fn collected(&self, topic: &str) -> Vec<(String, String)> {
        let stream = self.jetstream.get_stream(topic).await.expect("it is there");
        let count = stream.cached_info().state.messages;
        let mut collected = Vec::new();
        for sequence in 1..=count {
            let message = stream.get_raw_message(sequence).await;
            let message = message.expect("a message");
            let id = message.headers.get("Nats-Msg-Id").map(ToString::to_string);
            collected.push((id.expect("an id"), text(&message.payload)));
        }
        collected
    }
}

impl BrokerSite for rabbitmq::Site {
    type Publisher = RabbitMqPublisher;
    type Running = rabbitmq::Running;

    const KEEPS_REPETITIONS: bool = true;

    async fn fresh() -> Self {
        Self::at(brokers::rabbitmq())
    }

    async fn at(port: u16) -> Self {
        Self::at(port)
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn topic(&self) -> String {
        self.queue.clone()
    }

    async fn publisher(port: u16) -> RabbitMqPublisher {
        RabbitMqPublisher::new(rabbitmq::uri(port), "amq.topic")
    }

    fn cut_confirm(proxy: &Proxy<Port>) {
        proxy.next_commit(Fate::CutAnswer);
    }

    fn start<H: Handler>(&self, consumer: Consumer<H>) -> rabbitmq::Running {
        rabbitmq::Running::start(self.source(), consumer)
    }

    async fn stop(running: rabbitmq::Running) {
        running.stop().await;
    }

    async fn kill(running: rabbitmq::Running) {
        running.kill().await;
    }

    async fn publish(&self, fact: &str) {
        self.publish(fact).await;
    }

    async fn settled(&self) {
        self.settled().await;
    }

    async fn dead_letters(&self) -> u64 {
        self.dead_letters().await.into()
    }

    async fn collect(&self, topic: &str) {
        let link = self.link().await;
        let durable = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        let declared = link
            .channel
            .queue_declare(topic.into(), durable, FieldTable::default());
        declared.await.expect("a queue");
        let (exchange, options) = ("amq.topic".into(), QueueBindOptions::default());
        let bound = link.channel.queue_bind(
            topic.into(),
            exchange,
            topic.into(),
            options,
            FieldTable::default(),
        );
        bound.await.expect("a binding");
    }

    async fn collected(&self, topic: &str) -> Vec<(String, String)> {
        let link = self.link().await;
        let mut collected = Vec::new();
        loop {
            let options = BasicGetOptions { no_ack: true };
            let got = link.channel.basic_get(topic.into(), options).await;
            let Some(message) = got.expect("an answer") else {
                return collected;
            };
            let id = message.properties.message_id().as_ref();
            let id = id.map(ToString::to_string).expect("an id");
            collected.push((id, text(&message.data)));
        }
    }
}
