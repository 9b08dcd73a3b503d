//! A worker of a source: fetches a message, has it handled, and tells the server.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::message::Info;
use async_nats::jetstream::{self, AckKind, stream::Stream};
use futures_util::StreamExt as _;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::attempts::Attempts;
use super::dead::{self, DeadLetter};
use super::original::Original;
use super::settings::NatsSource;
use crate::broker::closing::closed;
use crate::broker::pause::Pause;
use crate::broker::serve::serve;
use crate::inbox::{Consumer, DeadLetterReason, Delivery, Handler, Verdict};

/// How long one request waits for a message at the server. A request that a restart of the server has forgotten costs no
/// more than this.
const FETCH: Duration = Duration::from_secs(5);

/// How long a worker waits after the server has not answered, or a dead letter was not taken.
const AGAIN: Duration = Duration::from_secs(1);

/// Where a worker's messages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feed {
    /// The stream of the source.
    Stream,
    /// The messages that are parked until somebody has settled their outcome.
    Parked,
}

/// The parked messages of a source.
pub(super) struct Parking {
    pub(super) stream: Stream,
    pub(super) pull: PullConsumer,
}

/// What the workers of a source share.
pub(super) struct NatsWorker<H> {
    pub(super) source: NatsSource,
    pub(super) consumer: Consumer<H>,
    pub(super) pull: PullConsumer,
    pub(super) parking: Parking,
    pub(super) attempts: Attempts,
    pub(super) pause: Pause,
}

impl<H: Handler> NatsWorker<H> {
    pub(super) async fn work(self: Arc<Self>, from: Feed, mut closing: watch::Receiver<bool>) {
        loop {
            let fetch = async {
                self.pause.over().await;
                self.fetch(from).await
            };
            let fetched = tokio::select! {
                biased;
                () = closed(&mut closing) => return,
                fetched = fetch => fetched,
            };
            let failed = match fetched {
                Ok(None) => continue,
                Ok(Some(message)) => self.handle(&message, from, &mut closing).await.err(),
                Err(error) => Some(error),
            };
            if let Some(error) = failed {
                tracing::warn!(target: "idem", durable = self.source.durable, %error, "NATS did not answer as it should; trying again");
                tokio::select! {
                    () = closed(&mut closing) => return,
                    () = sleep(AGAIN) => {}
                }
            }
        }
    }

    async fn fetch(&self, from: Feed) -> Result<Option<jetstream::Message>, async_nats::Error> {
        let pull = match from {
            Feed::Stream => &self.pull,
            Feed::Parked => &self.parking.pull,
        };
        let request = async {
            let batch = pull.batch().max_messages(1).expires(FETCH);
            batch.messages().await?.next().await.transpose()
        };
        // The server ends the request by itself, unless it or the connection is gone.
        timeout(FETCH * 2, request).await.unwrap_or(Ok(None))
    }

    /// Handles one message, and tells the server. After an error the server delivers it again: at once, or when `ack_wait` is
    /// over.
    async fn handle(
        &self,
        message: &jetstream::Message,
        from: Feed,
        closing: &mut watch::Receiver<bool>,
    ) -> Result<(), async_nats::Error> {
        let info = message.info()?;
        let is_parked = from == Feed::Parked;
        if is_parked && info.delivered <= 1 {
            // It was parked just now.
            return self.wait(message, self.source.parked_interval).await;
        }
        let original = match from {
            Feed::Stream => Original::delivered(message, &info),
            Feed::Parked => Original::set_aside(message, &info),
        };
        let sequence = original.sequence;
        let used = match self.attempts_used(&original, &info).await {
            Ok(used) => used,
            Err(error) => {
                self.wait(message, AGAIN).await?;
                return Err(error);
            }
        };
        let mut delivery = Delivery::new(original.read(&message.payload)).with_attempts(used);
        if is_parked {
            delivery = delivery.after_parking();
        }
        let keep = self.keep(message);
        let verdict = serve(&self.consumer, &delivery, &self.pause, closing, keep).await;
        let letter = match verdict {
            None | Some(Verdict::Pause { .. }) => {
                return message.ack_with(AckKind::Nak(None)).await;
            }
            Some(Verdict::Ack) => {
                self.finish(message, &info, from, AckKind::Ack).await?;
                return self.forget(sequence, used).await;
            }
            Some(Verdict::Park { .. }) if is_parked => {
                return self.wait(message, self.source.parked_interval).await;
            }
            Some(Verdict::Retry { attempts, .. }) if !is_parked && self.is_last(&info) => {
                DeadLetter {
                    reason: DeadLetterReason::AttemptsUsedUp.as_str(),
                    detail: "the server delivers it no more (`max_deliver`)".to_owned(),
                    attempts,
                    attempt_id: None,
                }
            }
            Some(Verdict::Retry { after, attempts }) => {
                if attempts != used {
                    self.attempts.write(sequence, attempts).await?;
                }
                return self.wait(message, after).await;
            }
            Some(Verdict::DeadLetter { reason, detail }) => DeadLetter {
                reason: reason.as_str(),
                detail,
                attempts: used,
                attempt_id: None,
            },
            Some(Verdict::Park { attempt_id, detail }) => DeadLetter {
                reason: Verdict::OUTCOME_UNKNOWN,
                detail,
                attempts: used,
                attempt_id: Some(attempt_id.to_string()),
            },
        };
        self.bury(message, &info, from, &original, letter).await
    }

    async fn attempts_used(
        &self,
        original: &Original,
        info: &Info<'_>,
    ) -> Result<u32, async_nats::Error> {
        if info.delivered <= 1 {
            return Ok(0);
        }
        let written = self.attempts.read(original.sequence).await?;
        Ok(written.max(original.attempts))
    }

    async fn wait(
        &self,
        message: &jetstream::Message,
        time: Duration,
    ) -> Result<(), async_nats::Error> {
        message.ack_with(AckKind::Nak(Some(time))).await
    }

    /// Sets a message aside, and tells the server not to deliver it again. A dead letter that is not taken is no reason to
    /// lose the message: it comes again.
    async fn bury(
        &self,
        message: &jetstream::Message,
        info: &Info<'_>,
        from: Feed,
        original: &Original,
        letter: DeadLetter,
    ) -> Result<(), async_nats::Error> {
        let source = &self.source;
        let subject = source.aside(letter.reason);
        let used = letter.attempts;
        let (jetstream, durable) = (&source.jetstream, &source.durable);
        let kept = dead::publish(jetstream, message, original, durable, subject, letter).await;
        if let Err(error) = kept {
            self.wait(message, AGAIN).await?;
            return Err(error);
        }
        self.finish(message, info, from, AckKind::Term).await?;
        self.forget(original.sequence, used).await
    }

    /// Tells the server not to deliver the message again. A parked message is deleted, so that those which wait can be
    /// counted.
    async fn finish(
        &self,
        message: &jetstream::Message,
        info: &Info<'_>,
        from: Feed,
        kind: AckKind,
    ) -> Result<(), async_nats::Error> {
        if from == Feed::Parked {
            let stream = &self.parking.stream;
            if let Err(error) = stream.delete_message(info.stream_sequence).await {
                tracing::warn!(target: "idem", durable = self.source.durable, %error, "a parked message was settled, and not deleted");
            }
        }
        message.double_ack_with(kind).await
    }

    async fn forget(&self, sequence: u64, used: u32) -> Result<(), async_nats::Error> {
        if used == 0 {
            return Ok(());
        }
        self.attempts.forget(sequence).await
    }

    fn is_last(&self, info: &Info<'_>) -> bool {
        info.delivered >= i64::from(self.source.max_deliver.get())
    }

    /// Tells the server that the message is in work.
    async fn keep(&self, message: &jetstream::Message) -> Infallible {
        loop {
            sleep(self.source.ack_wait / 3).await;
            if let Err(error) = message.ack_with(AckKind::Progress).await {
                tracing::debug!(target: "idem", %error, "progress was not told");
            }
        }
    }
}
