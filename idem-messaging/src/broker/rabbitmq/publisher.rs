//! Publishes the events of an outbox.

use std::sync::Arc;
use std::time::Duration;

use lapin::options::ConfirmSelectOptions;
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::confirm::{self, NotConfirmed};
use crate::outbox::{OutboxEvent, PublishError, Publisher};

/// Publishes events to an exchange of RabbitMQ. The topic is the routing key.
///
/// `message_id` is the event's id, `type` its type and `content_type` its media type. AMQP 0-9-1 has no CloudEvents binding:
/// the attributes are headers with the prefix of the AMQP 1.0 binding, `cloudEvents:` (CloudEvents AMQP binding 1.0.2,
/// section 3.1.3.1). `traceparent` and the event's own headers are headers too. Messages are persistent.
///
/// The connection is opened with the first event, and again with the first event after it was lost or has fallen silent.
///
/// ```
/// use idem_messaging::broker::rabbitmq::RabbitMqPublisher;
///
/// let publisher = RabbitMqPublisher::new("amqp://localhost/%2f", "amq.topic");
/// ```
pub struct RabbitMqPublisher {
    uri: String,
    exchange: String,
    confirm_timeout: Duration,
    link: Mutex<Option<Arc<Link>>>,
}

/// A connection, which is closed when the last publication over it has ended.
struct Link {
    _connection: Connection,
    channel: Channel,
}

impl RabbitMqPublisher {
    /// Creates a publisher to an exchange, which must be there, at the broker of an AMQP URI.
    pub fn new(uri: impl Into<String>, exchange: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            exchange: exchange.into(),
            confirm_timeout: confirm::LIMIT,
            link: Mutex::new(None),
        }
    }

    /// Sets the longest time until the confirm. After it the broker counts as one that is down, and no event uses up an attempt.
    /// The default is 5 seconds. Keep it below the relay's [`publish_timeout`](crate::outbox::Relay::publish_timeout), after
    /// which an attempt is used up.
    #[must_use]
    pub fn with_confirm_timeout(self, confirm_timeout: Duration) -> Self {
        Self {
            confirm_timeout,
            ..self
        }
    }

    /// Returns the link, which is a new one if the last one is lost.
    async fn link(&self) -> lapin::Result<Arc<Link>> {
        let mut link = self.link.lock().await;
        if let Some(link) = &*link
            && link.channel.status().connected()
        {
            return Ok(Arc::clone(link));
        }
        *link = None;
        let connection = Connection::connect(&self.uri, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await?;
        let opened = Arc::new(Link {
            _connection: connection,
            channel,
        });
        *link = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Uses a link that has fallen silent no more. What is under way over it may still come to its end.
    async fn leave(&self, silent: &Arc<Link>) {
        let mut link = self.link.lock().await;
        if link.as_ref().is_some_and(|link| Arc::ptr_eq(link, silent)) {
            *link = None;
        }
    }
}

impl Publisher for RabbitMqPublisher {
    /// Publishes an event as `mandatory`, and returns `Ok` after the broker has confirmed that a queue keeps it.
    ///
    /// # Errors
    /// Permanent if the topic is longer than the 255 bytes of a routing key. Unavailable if the broker cannot be reached, the
    /// connection is lost before the confirm, no confirm comes in time, or the exchange is not there. Otherwise to be tried
    /// again: no queue is bound for the topic (`basic.return`), or a queue refused it (`basic.nack`).
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        let routing_key = short(event.topic(), "topic")?;
        let exchange = short(&self.exchange, "exchange")?;
        let properties = properties(event)?;
        let end = Instant::now() + self.confirm_timeout;
        let link = timeout_at(end, self.link()).await.map_err(|_| {
            PublishError::unavailable(
                "there is no connection to RabbitMQ in time; nothing was sent",
            )
        })?;
        let link = link.map_err(PublishError::unavailable)?;
        let limit = end.saturating_duration_since(Instant::now());
        let (channel, payload) = (&link.channel, event.payload());
        let published =
            confirm::publish(channel, exchange, routing_key, payload, properties, limit).await;
        if let Err(NotConfirmed::Silent) = published {
            self.leave(&link).await;
        }
        published.map_err(|error| match error {
            NotConfirmed::Broker(_) | NotConfirmed::Silent => PublishError::unavailable(error),
            NotConfirmed::Returned { .. } | NotConfirmed::Refused => PublishError::retry(error),
        })
    }
}

impl std::fmt::Debug for RabbitMqPublisher {
    /// Leaves out the URI, which may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RabbitMqPublisher")
            .field("exchange", &self.exchange)
            .finish_non_exhaustive()
    }
}

fn properties(event: &OutboxEvent) -> Result<BasicProperties, PublishError> {
    let mut headers = FieldTable::default();
    let mut insert = |name: &str, value: &str| -> Result<(), PublishError> {
        let value = AMQPValue::LongString(value.to_owned().into());
        headers.insert(short(name, "name of a header")?, value);
        Ok(())
    };
    for (name, value) in event.headers() {
        insert(name, value)?;
    }
    for (name, value) in event.attributes() {
        insert(&format!("cloudEvents:{name}"), &value)?;
    }
    for (name, value) in [
        ("traceparent", event.traceparent()),
        ("tracestate", event.tracestate()),
    ] {
        if let Some(value) = value {
            insert(name, value)?;
        }
    }
    let properties = BasicProperties::default()
        .with_message_id(short(event.id().as_str(), "id")?)
        .with_content_type(short(event.content_type(), "content type")?)
        .with_headers(headers)
        // Persistent.
        .with_delivery_mode(2);
    // A type may have 255 characters, and more bytes than a property takes. The header has it whole.
    Ok(match ShortString::try_new(event.event_type()) {
        Ok(event_type) => properties.with_type(event_type),
        Err(_) => properties,
    })
}

/// Returns a short string of AMQP, which has at most 255 bytes.
fn short(text: &str, what: &str) -> Result<ShortString, PublishError> {
    ShortString::try_new(text).map_err(|_| {
        PublishError::permanent(format!(
            "the {what} `{text}` has {} bytes, and AMQP takes 255; nothing was sent",
            text.len()
        ))
    })
}
