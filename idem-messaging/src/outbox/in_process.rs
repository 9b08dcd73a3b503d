//! A broker in this process, for examples, tests and programs that are their own consumers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::publisher::{OutboxEvent, PublishError, PublishErrorKind, Publisher};

/// Hands events to the subscribers of their topic in this process, and takes an event as published when each of them
/// has acknowledged it. It keeps nothing: the outbox does.
///
/// ```
/// # async fn example(event: idem_messaging::outbox::OutboxEvent) {
/// use idem_messaging::outbox::{InProcess, Publisher};
///
/// let broker = InProcess::new();
/// let mut cases = broker.subscribe("cases");
/// tokio::spawn(async move {
///     while let Some(delivery) = cases.next().await {
///         println!("{}", delivery.event().id());
///         delivery.ack();
///     }
/// });
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct InProcess {
    topics: Arc<Mutex<HashMap<String, Vec<mpsc::Sender<DeliveredEvent>>>>>,
}

/// The deliveries of one topic to one subscriber. When it is dropped, the subscription ends.
#[derive(Debug)]
pub struct Subscription(mpsc::Receiver<DeliveredEvent>);

/// An event that waits for its acknowledgement. If it is dropped without one, the relay publishes the event again.
#[derive(Debug)]
#[must_use = "a delivery that is dropped comes again"]
pub struct DeliveredEvent {
    event: OutboxEvent,
    answer: oneshot::Sender<Result<(), PublishError>>,
}

impl InProcess {
    /// Creates a broker without subscribers. Clones are the same broker.
    pub fn new() -> Self {
        Self::default()
    }

    /// Subscribes to a topic. Each subscriber gets each event. An event of a topic without subscribers stays in the
    /// outbox.
    pub fn subscribe(&self, topic: impl Into<String>) -> Subscription {
        // A delivery waits for its acknowledgement, so that a queue behind it would only make leases end.
        let (sender, receiver) = mpsc::channel(1);
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        topics.entry(topic.into()).or_default().push(sender);
        Subscription(receiver)
    }

    fn subscribers(&self, topic: &str) -> Vec<mpsc::Sender<DeliveredEvent>> {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(subscribers) = topics.get_mut(topic) else {
            return Vec::new();
        };
        subscribers.retain(|subscriber| !subscriber.is_closed());
        subscribers.clone()
    }
}

impl Publisher for InProcess {
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        let subscribers = self.subscribers(event.topic());
        if subscribers.is_empty() {
            return Err(PublishError::unavailable("nobody subscribes to the topic"));
        }
        let mut answers = Vec::new();
        for subscriber in subscribers {
            let (answer, answered) = oneshot::channel();
            let delivery = DeliveredEvent {
                event: event.clone(),
                answer,
            };
            answers.push(answered);
            // If the subscriber has ended, the answer is lost with the delivery.
            let _ = subscriber.send(delivery).await;
        }
        let mut result = Ok(());
        for answered in answers {
            let lost = || PublishError::retry("a subscriber did not acknowledge the event");
            let answer = answered.await.unwrap_or_else(|_| Err(lost()));
            result = combined(result, answer);
        }
        result
    }
}

/// Combines the answers of two subscribers: an event that one of them is to get again is not dead.
fn combined(
    one: Result<(), PublishError>,
    other: Result<(), PublishError>,
) -> Result<(), PublishError> {
    let finality = |error: &PublishError| match error.kind() {
        PublishErrorKind::Unavailable => 0,
        PublishErrorKind::Retry => 1,
        PublishErrorKind::Permanent => 2,
    };
    match (one, other) {
        (Err(one), Err(other)) if finality(&other) < finality(&one) => Err(other),
        (Err(one), _) => Err(one),
        (Ok(()), other) => other,
    }
}

impl Subscription {
    /// Waits for the next event. Returns `None` when the broker is gone.
    pub async fn next(&mut self) -> Option<DeliveredEvent> {
        self.0.recv().await
    }
}

impl DeliveredEvent {
    /// Returns the event.
    pub fn event(&self) -> &OutboxEvent {
        &self.event
    }

    /// Says that the event need not come again.
    pub fn ack(self) {
        // The relay may have given it up; then the event comes again.
        let _ = self.answer.send(Ok(()));
    }

    /// Says why the event cannot be acknowledged, and by the error's kind what the relay does next. Other
    /// subscribers get it all the same; if one of them is to get it again, so do all.
    pub fn refuse(self, error: PublishError) {
        let _ = self.answer.send(Err(error));
    }

    /// Waits until the relay has given up waiting for the answer.
    pub async fn given_up(&mut self) {
        self.answer.closed().await;
    }
}
