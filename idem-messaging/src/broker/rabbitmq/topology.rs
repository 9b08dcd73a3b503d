//! The queues of a source.

use std::time::Duration;

use lapin::Channel;
use lapin::options::{QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};

use super::settings::RabbitMqSource;

/// Returns the name of the queue of the dead letters.
pub(super) fn dead(queue: &str) -> String {
    format!("{queue}.dead")
}

/// Returns the name of the queue in which a message waits for `rung`.
pub(super) fn waiting(queue: &str, rung: Duration) -> String {
    format!("{queue}.wait.{}ms", rung.as_millis())
}

/// Returns the name of the queue in which messages wait until somebody has settled their outcome. They leave it each
/// `interval`, to see whether that was done.
pub(super) fn parked(queue: &str, interval: Duration) -> String {
    format!("{queue}.parked.{}ms", interval.as_millis())
}

/// Declares the queues and the bindings. What is there already with the same arguments stays as it is.
pub(super) async fn declare(channel: &Channel, source: &RabbitMqSource) -> lapin::Result<()> {
    let (queue, dead) = (source.queue.as_str(), dead(&source.queue));
    let mut work = quorum(Some(&dead));
    // A backstop: what the adapter has seen has its own number.
    work.insert(
        "x-delivery-limit".into(),
        AMQPValue::LongLongInt(source.delivery_limit.get().into()),
    );
    if let Some(age) = source.message_ttl {
        work.insert("x-message-ttl".into(), milliseconds(age));
    }
    // Where messages go comes first: nothing may be delivered before it is there.
    for (name, arguments) in [(dead.as_str(), quorum(None)), (queue, work)] {
        declare_queue(channel, name, arguments).await?;
    }
    let waits = source.ladder.iter();
    let mut waits: Vec<_> = waits.map(|rung| (waiting(queue, *rung), *rung)).collect();
    let interval = source.parked_interval;
    waits.push((parked(queue, interval), interval));
    for (name, wait) in waits {
        let mut arguments = quorum(Some(queue));
        arguments.insert("x-message-ttl".into(), milliseconds(wait));
        declare_queue(channel, &name, arguments).await?;
    }
    for (exchange, routing_key) in &source.bindings {
        channel
            .queue_bind(
                queue.into(),
                exchange.as_str().into(),
                routing_key.as_str().into(),
                QueueBindOptions::default(),
                FieldTable::default(),
            )
            .await?;
    }
    Ok(())
}

async fn declare_queue(channel: &Channel, name: &str, arguments: FieldTable) -> lapin::Result<()> {
    let options = QueueDeclareOptions {
        durable: true,
        ..QueueDeclareOptions::default()
    };
    channel
        .queue_declare(name.into(), options, arguments)
        .await?;
    Ok(())
}

/// Returns the arguments of a quorum queue whose dead letters go to the queue `to` through the default exchange, which nobody
/// can unbind. They are confirmed by that queue before they leave this one (RabbitMQ documentation, *Quorum Queues*,
/// at-least-once dead lettering), which asks for the overflow behaviour `reject-publish`.
fn quorum(to: Option<&str>) -> FieldTable {
    let mut arguments = FieldTable::default();
    let mut text = |name: &str, value: &str| {
        arguments.insert(name.into(), AMQPValue::LongString(value.into()));
    };
    text("x-queue-type", "quorum");
    text("x-overflow", "reject-publish");
    if let Some(to) = to {
        text("x-dead-letter-exchange", "");
        text("x-dead-letter-routing-key", to);
        text("x-dead-letter-strategy", "at-least-once");
    }
    arguments
}

fn milliseconds(duration: Duration) -> AMQPValue {
    AMQPValue::LongLongInt(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
}
