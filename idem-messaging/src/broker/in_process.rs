//! A source on the broker in this process.
//!
//! The broker keeps nothing: the outbox does. So the outbox is also the queue of dead letters, and the parking place.

use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::closing::closed;
use crate::inbox::{Consumer, Delivery, Handler, Message, Verdict};
use crate::outbox::{DeliveredEvent, OutboxEvent, PublishError, Subscription};

/// The most events that are in work at once.
const CONCURRENCY: usize = 16;

impl Subscription {
    /// Has `consumer` handle the events of this subscription until `shutdown` is ready or the broker is gone, and then
    /// returns after the last handler has ended.
    ///
    /// | verdict | the event |
    /// |---|---|
    /// | ack | is published, once every subscriber has said so |
    /// | retry | is handled again after that time, while the relay waits; if it gives the event up meanwhile, that is one of the relay's attempts |
    /// | pause | stays in the outbox, and the relay publishes nothing for that time |
    /// | dead letter | is dead in the outbox, with the reason as its last error |
    /// | park | is dead in the outbox too; after the outcome is settled, [`Outbox::requeue`](crate::outbox::Outbox::requeue) it |
    ///
    /// A message has the event's id as the broker's id, and its CloudEvents attributes as headers.
    ///
    /// # Panics
    /// If the code that answers the broker panics. A panic of the handler is an answer of it.
    pub async fn run<H: Handler>(
        mut self,
        consumer: Consumer<H>,
        shutdown: impl Future<Output = ()>,
    ) {
        let consumer = Arc::new(consumer);
        let permits = Arc::new(Semaphore::new(CONCURRENCY));
        let (closing, _) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let next = async {
                // It is never closed.
                let permit = Arc::clone(&permits).acquire_owned().await.ok()?;
                Some((self.next().await?, permit))
            };
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(done) = tasks.join_next() => raise(done),
                next = next => {
                    let Some((delivery, permit)) = next else { break };
                    let (consumer, closing) = (Arc::clone(&consumer), closing.subscribe());
                    tasks.spawn(async move {
                        handle(&consumer, delivery, closing).await;
                        drop(permit);
                    });
                }
            }
        }
        drop(self);
        closing.send_replace(true);
        while let Some(done) = tasks.join_next().await {
            raise(done);
        }
    }
}

/// Handles one event, and tells the relay. An event that is dropped without an answer comes again.
async fn handle<H: Handler>(
    consumer: &Consumer<H>,
    mut delivered: DeliveredEvent,
    mut closing: watch::Receiver<bool>,
) {
    let mut delivery = Delivery::new(message(delivered.event()));
    loop {
        match consumer.handle(&delivery).await {
            Verdict::Ack => return delivered.ack(),
            Verdict::Retry { after, attempts } => {
                delivery = delivery.with_attempts(attempts);
                tokio::select! {
                    biased;
                    () = closed(&mut closing) => return,
                    () = delivered.given_up() => return,
                    () = sleep(after) => {}
                }
            }
            Verdict::Pause { after, detail } => {
                return delivered.refuse(PublishError::unavailable(detail).after(after));
            }
            Verdict::DeadLetter { reason, detail } => {
                return delivered.refuse(PublishError::permanent(format!("{reason}: {detail}")));
            }
            Verdict::Park { detail, .. } => {
                let reason = Verdict::OUTCOME_UNKNOWN;
                return delivered.refuse(PublishError::permanent(format!("{reason}: {detail}")));
            }
        }
    }
}

/// The event as the inbox sees it. Its attributes have the prefix whose values are not encoded.
fn message(event: &OutboxEvent) -> Message {
    let mut message = Message::new(event.payload())
        .with_topic(event.topic())
        .with_broker_id(event.id().as_str())
        .with_content_type(event.content_type());
    for (name, value) in event.attributes() {
        message = message.with_header(format!("ce_{name}"), value);
    }
    for (name, value) in event
        .traceparent()
        .map(|text| ("traceparent", text))
        .into_iter()
        .chain(event.headers())
    {
        message = message.with_header(name, value);
    }
    message
}

fn raise(done: Result<(), tokio::task::JoinError>) {
    if let Err(error) = done
        && let Ok(panic) = error.try_into_panic()
    {
        resume_unwind(panic);
    }
}
