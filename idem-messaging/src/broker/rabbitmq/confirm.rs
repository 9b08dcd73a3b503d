//! Publishing with a confirm.

use lapin::options::BasicPublishOptions;
use lapin::types::ShortString;
use lapin::{BasicProperties, Channel, Confirmation};

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
}

/// Publishes a message, and waits until the broker has confirmed that a queue keeps it. The channel is in confirm mode.
pub(super) async fn publish(
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
