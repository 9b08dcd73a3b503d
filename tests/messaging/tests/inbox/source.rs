//! A broker in the process: it delivers until it is told to stop.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use idem_messaging::inbox::{Consumer, Delivery, Handler, Message, Verdict};
use tokio::task::yield_now;

use crate::service::{CaseEscalated, Then};

/// An event of a case, under this id.
pub(crate) fn message(id: &str, case: i64, then: Option<Then>) -> Message {
    let level = 2;
    let event = CaseEscalated { case, level, then };
    let payload = serde_json::to_vec(&event).expect("it is JSON");
    Message::new(payload)
        .with_broker_id(id)
        .with_event_type("case.escalated")
}

/// Deliveries that wait for a consumer.
pub(crate) struct Source {
    waiting: Mutex<VecDeque<Delivery>>,
}

impl Source {
    /// Delivers a message so often.
    pub(crate) fn repeating(message: &Message, times: usize) -> Self {
        let deliveries = (0..times).map(|_| Delivery::new(message.clone()));
        Self {
            waiting: Mutex::new(deliveries.collect()),
        }
    }

    fn next(&self) -> Option<Delivery> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.pop_front()
    }

    fn give_back(&self, delivery: Delivery) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_back(delivery);
    }

    /// Runs a consumer until nothing waits. Returns how many deliveries it has acknowledged.
    pub(crate) async fn run(&self, consumer: &Consumer<impl Handler>) -> usize {
        let mut acknowledged = 0;
        while let Some(delivery) = self.next() {
            match consumer.handle(&delivery).await {
                Verdict::Ack => acknowledged += 1,
                Verdict::Retry { attempts, .. } => {
                    assert_eq!(attempts, 0, "no error is the body's own");
                    self.give_back(delivery);
                }
                Verdict::Pause { .. } => self.give_back(delivery),
                other => panic!("{other:?}"),
            }
            yield_now().await;
        }
        acknowledged
    }
}

/// Delivers a message until it is acknowledged.
pub(crate) async fn until_ack(consumer: &Consumer<impl Handler>, message: &Message) {
    let acknowledged = Source::repeating(message, 1).run(consumer).await;
    assert_eq!(acknowledged, 1);
}

/// Delivers a message until its verdict is another one than to come again without a used attempt.
pub(crate) async fn verdict(consumer: &Consumer<impl Handler>, delivery: &Delivery) -> Verdict {
    loop {
        match consumer.handle(delivery).await {
            Verdict::Retry { attempts, .. } if attempts == delivery.attempts() => yield_now().await,
            verdict => return verdict,
        }
    }
}
