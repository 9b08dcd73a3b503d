//! Publishing with a confirm.

use std::time::Duration;

use lapin::options::BasicPublishOptions;
use lapin::types::ShortString;
use lapin::{BasicProperties, Channel, Confirmation};
use tokio::time::timeout;

/// The longest wait for a confirm, unless a publisher has another one. A broker that does not answer is a broker that is down.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

/// Why a message was not published, or may not have been.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotConfirmed {
    #[error("RabbitMQ: {0}; it is not known whether the message was taken")]
    Broker(#[from] lapin::Error),
    /// The broker confirms a message that it has returned: it has dealt with it, by dropping it.
    #[error("RabbitMQ returned the message ({code} {text}): no queue takes it; nothing was kept")]
    Returned { code: u16, text: String },
    #[error("RabbitMQ refused the message (basic.nack): a queue is full or failed")]
    Refused,
    #[error("RabbitMQ has not confirmed the message in time; it is not known whether it was taken")]
    Silent,
}

/// Publishes a message, and waits for at most `limit` until the broker has confirmed that a queue keeps it. The channel is in
/// confirm mode.
pub(super) async fn publish(
    channel: &Channel,
    exchange: ShortString,
    routing_key: ShortString,
    payload: &[u8],
    properties: BasicProperties,
    limit: Duration,
) -> Result<(), NotConfirmed> {
    let sent = send(channel, exchange, routing_key, payload, properties);
    let confirmed = timeout(limit, sent).await;
    confirmed.unwrap_or(Err(NotConfirmed::Silent))
}

async fn send(
    channel: &Channel,
    exchange: ShortString,
    routing_key: ShortString,
    payload: &[u8],
    properties: BasicProperties,
) -> Result<(), NotConfirmed> {
    let options = BasicPublishOptions {
        mandatory: true,
        ..BasicPublishOptions::default()
    };
    let confirm = channel
        .basic_publish(exchange, routing_key, options, payload, properties)
        .await?;
    match confirm.await? {
        Confirmation::Ack(None) => Ok(()),
        Confirmation::Ack(Some(returned)) => Err(NotConfirmed::Returned {
            code: returned.reply_code,
            text: returned.reply_text.to_string(),
        }),
        Confirmation::Nack(_) | Confirmation::NotRequested => Err(NotConfirmed::Refused),
    }
}
