//! A stream with its dead letters, and a source on it.

use std::num::NonZeroU32;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::stream::{Config, LastRawMessageErrorKind};
use async_nats::jetstream::{self, consumer::PullConsumer, message::StreamMessage};
use idem_messaging::broker::nats::NatsSource;
use idem_messaging::inbox::{Consumer, Handler};
use idem_tests::patience::in_time;
use idem_tests_messaging::brokers::{self, fresh};
use idem_tests_messaging::fact::Fact;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) struct Site {
    pub(crate) port: u16,
    pub(crate) jetstream: jetstream::Context,
    pub(crate) stream: String,
    pub(crate) dead: String,
}

impl Site {
    pub(crate) async fn fresh() -> Self {
        Self::at(brokers::nats()).await
    }

    pub(crate) async fn at(port: u16) -> Self {
        let jetstream = connect(port).await;
        let (stream, dead) = (fresh("facts"), fresh("dead"));
        for (name, subject) in [
            (&stream, format!("{stream}.>")),
            (&dead, format!("{dead}.>")),
        ] {
            let config = Config {
                name: name.clone(),
                subjects: vec![subject],
                max_age: Duration::from_hours(1),
                ..Config::default()
            };
            in_time("a stream", jetstream.create_stream(config))
                .await
                .expect("a stream");
        }
        Self {
            port,
            jetstream,
            stream,
            dead,
        }
    }

    pub(crate) fn subject(&self) -> String {
        format!("{}.noted", self.stream)
    }

    pub(crate) fn source(&self) -> NatsSource {
        NatsSource::new(
            self.jetstream.clone(),
            self.stream.clone(),
            "receiver",
            self.dead.clone(),
        )
        .with_ack_wait(Duration::from_secs(1))
        .with_concurrency(NonZeroU32::new(4).expect("not zero"))
    }

    pub(crate) async fn publish(&self, fact: &str) {
        self.publish_with(fact, HeaderMap::new()).await;
    }

    /// Publishes a fact under an id of the broker.
    pub(crate) async fn publish_as(&self, fact: &str, id: &str) {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", id);
        self.publish_with(fact, headers).await;
    }

    async fn publish_with(&self, fact: &str, headers: HeaderMap) {
        let published = async {
            let (subject, payload) = (self.subject(), Fact::json(fact).into());
            let sent = self
                .jetstream
                .publish_with_headers(subject, headers, payload);
            sent.await.expect("sent").await
        };
        in_time("an acknowledgement", published)
            .await
            .expect("kept");
    }

    /// Waits until every message of the stream is acknowledged or set aside.
    pub(crate) async fn settled(&self) {
        in_time("the messages are settled", async {
            loop {
                let stream = self.jetstream.get_stream(&self.stream).await;
                let Ok(stream) = stream else { continue };
                let Ok(mut consumer) = stream.get_consumer("receiver").await else {
                    continue;
                };
                let consumer: &mut PullConsumer = &mut consumer;
                if let Ok(info) = consumer.info().await
                    && info.num_pending == 0
                    && info.num_ack_pending == 0
                {
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    pub(crate) async fn dead_letters(&self) -> u64 {
        let stream = self
            .jetstream
            .get_stream(&self.dead)
            .await
            .expect("it is there");
        stream.get_info().await.expect("its state").state.messages
    }

    pub(crate) async fn last_dead_letter(&self, reason: &str) -> StreamMessage {
        let letter = self.dead_letter(reason).await;
        letter.expect("a dead letter of this reason")
    }

    /// Returns the last dead letter of a reason, if there is one.
    pub(crate) async fn dead_letter(&self, reason: &str) -> Option<StreamMessage> {
        let stream = self
            .jetstream
            .get_stream(&self.dead)
            .await
            .expect("it is there");
        let subject = format!("{}.{reason}", self.dead);
        let message = stream.get_last_raw_message_by_subject(&subject).await;
        match message {
            Ok(message) => Some(message),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => None,
            Err(error) => panic!("no answer: {error}"),
        }
    }
}

pub(crate) async fn connect(port: u16) -> jetstream::Context {
    let client = async_nats::connect(format!("127.0.0.1:{port}"));
    let client = in_time("a connection", client).await.expect("a connection");
    jetstream::new(client)
}

/// A source that runs.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) fn start<H: Handler>(source: NatsSource, consumer: Consumer<H>) -> Self {
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
