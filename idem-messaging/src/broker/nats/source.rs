//! Runs a consumer: opens what it needs at the server, and starts its workers.

use std::panic::resume_unwind;
use std::sync::Arc;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, stream::Stream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::attempts::Attempts;
use super::settings::{NatsSource, NatsSourceError};
use super::worker::{Feed, NatsWorker, Parking};
use crate::broker::pause::Pause;
use crate::inbox::{Consumer, DeadLetterReason, Handler, RedeliveryWindow, Verdict};

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
            workers.spawn(Arc::clone(&worker).work(Feed::Stream, closing.subscribe()));
        }
        workers.spawn(Arc::clone(&worker).work(Feed::Parked, closing.subscribe()));
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

impl<H: Handler> NatsWorker<H> {
    async fn open(source: NatsSource, consumer: Consumer<H>) -> Result<Self, NatsSourceError> {
        check_name(&source.stream)?;
        check_name(&source.durable)?;
        let jetstream = &source.jetstream;
        stream_of(&source, DeadLetterReason::Refused.as_str()).await?;
        let parking = park(&source).await?;
        let stream = jetstream.get_stream(&source.stream).await;
        let stream = stream.map_err(refused)?;
        let config = &stream.cached_info().config;
        let wanted = pull::Config {
            durable_name: Some(source.durable.clone()),
            filter_subject: source.filter.clone(),
            ack_policy: AckPolicy::Explicit,
            ack_wait: source.ack_wait,
            max_deliver: i64::from(source.max_deliver.get()),
            // A message that waits for its next attempt counts, too: any number of them stops no other.
            max_ack_pending: -1,
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
            parking,
            attempts,
            pause: Pause::none(),
        })
    }
}

fn refused(error: impl Into<async_nats::Error>) -> NatsSourceError {
    NatsSourceError::Nats(error.into())
}

/// Returns the stream that takes what is set aside for this reason.
async fn stream_of(source: &NatsSource, reason: &str) -> Result<Stream, NatsSourceError> {
    let subject = source.aside(reason);
    let Ok(name) = source.jetstream.stream_by_subject(subject.clone()).await else {
        let dead = source.dead.clone();
        return Err(NatsSourceError::NoDeadLetterStream { subject, dead });
    };
    source.jetstream.get_stream(name).await.map_err(refused)
}

/// Opens the consumer of the parked messages, which takes those of this source only.
async fn park(source: &NatsSource) -> Result<Parking, NatsSourceError> {
    let stream = stream_of(source, Verdict::OUTCOME_UNKNOWN).await?;
    let subject = source.aside(Verdict::OUTCOME_UNKNOWN);
    // With the length, no two pairs of names give one.
    let (length, of, durable) = (source.stream.len(), &source.stream, &source.durable);
    let name = format!("idem_parked_{length}_{of}_{durable}");
    let wanted = pull::Config {
        durable_name: Some(name),
        filter_subject: subject,
        ack_policy: AckPolicy::Explicit,
        ack_wait: source.ack_wait,
        // They wait for a person: any number of them, and as often as it takes.
        max_deliver: -1,
        max_ack_pending: -1,
        ..pull::Config::default()
    };
    // One that is there is changed to these settings.
    let pull = stream.create_consumer(wanted).await.map_err(refused)?;
    Ok(Parking { stream, pull })
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
