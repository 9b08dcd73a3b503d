//! What handles a message.

use std::sync::Arc;

use idem_runtime::{IdempotencyKey, Replayable};

use super::answer::{Answer, AsAnswer};
use super::message::Message;

/// Handles the messages of a consumer.
///
/// Every closure `Fn(IdempotencyKey, Arc<Message>)` is one whose future's output is an [`IntoAnswer`]: the
/// `Result<Replayable<T>, E>` of a handler with `#[idempotent]`, or an [`Answer`].
pub trait Handler: Send + Sync + 'static {
    /// Handles one delivery. `key` is the message's identity by the consumer's
    /// [`MessageKey`](super::MessageKey).
    fn handle(
        &self,
        key: IdempotencyKey,
        message: Arc<Message>,
    ) -> impl Future<Output = Answer> + Send;
}

impl<F, Fut> Handler for F
where
    F: Fn(IdempotencyKey, Arc<Message>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoAnswer> + Send,
{
    async fn handle(&self, key: IdempotencyKey, message: Arc<Message>) -> Answer {
        self(key, message).await.into_answer()
    }
}

/// Says what a handler's result is to a broker.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no answer to a broker",
    note = "a handler of a consumer returns `Result<Replayable<T>, E>`, as `#[idempotent]` makes it, with `E: AsAnswer`; or an `idem_messaging::inbox::Answer`"
)]
pub trait IntoAnswer {
    /// Returns the answer.
    fn into_answer(self) -> Answer;
}

impl IntoAnswer for Answer {
    fn into_answer(self) -> Answer {
        self
    }
}

impl<T, E: AsAnswer> IntoAnswer for Result<Replayable<T>, E> {
    fn into_answer(self) -> Answer {
        match self {
            Ok(result) if result.replayed() => Answer::Replayed,
            Ok(_) => Answer::Done,
            Err(error) => error.as_answer(),
        }
    }
}

impl<E: AsAnswer> IntoAnswer for Result<Answer, E> {
    fn into_answer(self) -> Answer {
        self.unwrap_or_else(|error| error.as_answer())
    }
}
