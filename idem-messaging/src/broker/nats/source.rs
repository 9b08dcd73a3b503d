//! Runs a consumer: fetch, handle, and tell the server.

use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, AckKind};
use futures_util::StreamExt as _;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::attempts::Attempts;
use super::dead::{self, DeadLetter};
use super::message;
use super::settings::{NatsSource, NatsSourceError};
use crate::broker::pause::Pause;
use crate::broker::serve::{closed, serve};
use crate::inbox::{Consumer, DeadLetterReason, Delivery, Handler, RedeliveryWindow, Verdict};

/// How long one request waits for a message at the server. A request that a restart of the server has forgotten costs no
/// more than this.
const FETCH: Duration = Duration::from_secs(5);

/// How long a worker waits after the server has not answered, or a dead letter was not taken.
const AGAIN: Duration = Duration::from_secs(1);

impl NatsSource {
    /// Fetches messages and has `consumer` handle them until `shutdown` is ready, and then returns after the last handler
    /// has ended. Several processes may run the same source.
    ///
    /// It logs a warning (target `idem`) if the stream may deliver a message again after its record is gone.
    ///
    /// # Errors
    /// [`NatsSourceError`] if it cannot start. Later, it restores what breaks, and logs it.
    ///
    /// # Panics
    /// If the code that answers the server panics. A panic of the handler is an answer of it.
    pub async fn run<H: Handler>(
        self,
        consumer: Consumer<H>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), NatsSourceError> {
        let concurrency = self.concurrency.get();
        let worker = Arc::new(NatsWorker::open(self, consumer).await?);
        let (closing, _) = watch::channel(false);
        let mut workers = JoinSet::new();
        for _ in 0..concurrency {
            workers.spawn(Arc::clone(&worker).work(closing.subscribe()));
        }
        tokio::select! {
            () = shutdown => {}
            ended = workers.join_next() => raise(ended),
        }
        closing.send_replace(true);
        while let Some(ended) = workers.join_next().await {
            raise(Some(ended));
        }
        Ok(())
    }
}

fn raise(ended: Option<Result<(), tokio::task::JoinError>>) {
    if let Some(Err(error)) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        resume_unwind(panic);
    }
}

struct NatsWorker<H> {
    source: NatsSource,
    consumer: Consumer<H>,
    pull: PullConsumer,
    attempts: Attempts,
    pause: Pause,
}

impl<H: Handler> NatsWorker<H> {
    async fn open(source: NatsSource, consumer: Consumer<H>) -> Result<Self, NatsSourceError> {
        fn refused(error: impl Into<async_nats::Error>) -> NatsSourceError {
            NatsSourceError::Nats(error.into())
        }
        check_name(&source.stream)?;
        check_name(&source.durable)?;
        let jetstream = &source.jetstream;
        let subject = format!("{}.{}", source.dead, Verdict::OUTCOME_UNKNOWN);
        if jetstream.stream_by_subject(subject.clone()).await.is_err() {
            let dead = source.dead.clone();
            return Err(NatsSourceError::NoDeadLetterStream { subject, dead });
        }
        let stream = jetstream.get_stream(&source.stream).await;
        let stream = stream.map_err(refused)?;
        let config = &stream.cached_info().config;
        let wanted = pull::Config {
            durable_name: Some(source.durable.clone()),
            filter_subject: source.filter.clone(),
            ack_policy: AckPolicy::Explicit,
            ack_wait: source.ack_wait,
            max_deliver: i64::from(source.max_deliver.get()),
            ..pull::Config::default()
        };
        let pull = stream.get_or_create_consumer(&source.durable, wanted).await;
        let pull: PullConsumer = pull.map_err(refused)?;
        check_settings(&source, &pull.cached_info().config)?;
        let replicas = config.num_replicas;
        let attempts = Attempts::open(jetstream, &source.durable, &source.stream, replicas).await;
        let attempts = attempts.map_err(refused)?;
        let age = (!config.max_age.is_zero()).then_some(config.max_age);
        let window = RedeliveryWindow::nats(
            age,
            Some(source.max_deliver.get()),
            source.ack_wait,
            &pull.cached_info().config.backoff,
            consumer.policy().backoff().max(),
        );
        if let Err(short) = consumer.check_retention(window) {
            tracing::warn!(target: "idem", stream = source.stream, durable = source.durable, "{short}");
        }
        Ok(Self {
            source,
            consumer,
            pull,
            attempts,
            pause: Pause::none(),
        })
    }

    async fn work(self: Arc<Self>, mut closing: watch::Receiver<bool>) {
        loop {
            let fetch = async {
                self.pause.over().await;
                self.fetch().await
            };
            let fetched = tokio::select! {
                biased;
                () = closed(&mut closing) => return,
                fetched = fetch => fetched,
            };
            let failed = match fetched {
                Ok(None) => continue,
                Ok(Some(message)) => self.handle(&message, &mut closing).await.err(),
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

    async fn fetch(&self) -> Result<Option<jetstream::Message>, async_nats::Error> {
        let request = async {
            let batch = self.pull.batch().max_messages(1).expires(FETCH);
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
        closing: &mut watch::Receiver<bool>,
    ) -> Result<(), async_nats::Error> {
        let info = message.info()?;
        let sequence = info.stream_sequence;
        let used = match info.delivered {
            ..=1 => 0,
            _ => match self.attempts.read(sequence).await {
                Ok(used) => used,
                Err(error) => {
                    message.ack_with(AckKind::Nak(Some(AGAIN))).await?;
                    return Err(error);
                }
            },
        };
        let read = message::read(message, info.stream, sequence);
        let delivery = Delivery::new(read).with_attempts(used);
        let keep = self.keep(message);
        let verdict = serve(&self.consumer, &delivery, &self.pause, closing, keep).await;
        match verdict {
            None | Some(Verdict::Pause { .. }) => Ok(message.ack_with(AckKind::Nak(None)).await?),
            Some(Verdict::Ack) => {
                message.double_ack().await?;
                self.forget(sequence, used).await
            }
            Some(Verdict::Retry { attempts, .. }) if self.is_last(&info) => {
                let letter = DeadLetter {
                    reason: DeadLetterReason::AttemptsUsedUp.as_str(),
                    detail: "the server delivers it no more (`max_deliver`)",
                    attempts,
                    attempt_id: None,
                };
                self.bury(message, &info, letter).await
            }
            Some(Verdict::Retry { after, attempts }) => {
                if attempts != used {
                    self.attempts.write(sequence, attempts).await?;
                }
                message.ack_with(AckKind::Nak(Some(after))).await
            }
            Some(Verdict::DeadLetter { reason, detail }) => {
                let letter = DeadLetter {
                    reason: reason.as_str(),
                    detail: &detail,
                    attempts: used,
                    attempt_id: None,
                };
                self.bury(message, &info, letter).await
            }
            Some(Verdict::Park { attempt_id, detail }) => {
                let letter = DeadLetter {
                    reason: Verdict::OUTCOME_UNKNOWN,
                    detail: &detail,
                    attempts: used,
                    attempt_id: Some(attempt_id.to_string()),
                };
                self.bury(message, &info, letter).await
            }
        }
    }

    /// Publishes a dead letter, and tells the server not to deliver the message again. A dead letter that is not taken is no
    /// reason to lose the message: it comes again.
    async fn bury(
        &self,
        message: &jetstream::Message,
        info: &jetstream::message::Info<'_>,
        letter: DeadLetter<'_>,
    ) -> Result<(), async_nats::Error> {
        let subject = format!("{}.{}", self.source.dead, letter.reason);
        let (sequence, used) = (info.stream_sequence, letter.attempts);
        let kept = dead::publish(&self.source.jetstream, message, info, subject, letter).await;
        if let Err(error) = kept {
            message.ack_with(AckKind::Nak(Some(AGAIN))).await?;
            return Err(error);
        }
        message.double_ack_with(AckKind::Term).await?;
        self.forget(sequence, used).await
    }

    async fn forget(&self, sequence: u64, used: u32) -> Result<(), async_nats::Error> {
        if used == 0 {
            return Ok(());
        }
        self.attempts.forget(sequence).await
    }

    fn is_last(&self, info: &jetstream::message::Info<'_>) -> bool {
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

fn check_name(name: &str) -> Result<(), NatsSourceError> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(good) {
        return Ok(());
    }
    let name = name.to_owned();
    Err(NatsSourceError::Name { name })
}

/// Refuses a consumer that somebody created with settings that do not fit.
fn check_settings(
    source: &NatsSource,
    found: &jetstream::consumer::Config,
) -> Result<(), NatsSourceError> {
    let settings = [
        (
            found.ack_policy == AckPolicy::Explicit,
            "its ack policy is not explicit",
        ),
        (
            found.ack_wait == source.ack_wait,
            "its ack wait is another one",
        ),
        (
            found.max_deliver == i64::from(source.max_deliver.get()),
            "its maximum of deliveries is another one",
        ),
        (
            found.filter_subject == source.filter,
            "its filter is another one",
        ),
    ];
    let other = settings.into_iter().find(|(same, _)| !same);
    other.map_or(Ok(()), |(_, setting)| {
        Err(NatsSourceError::OtherSettings {
            durable: source.durable.clone(),
            setting: setting.to_owned(),
        })
    })
}
