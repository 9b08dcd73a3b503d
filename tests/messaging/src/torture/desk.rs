//! The annotated handlers of callers and consumers, the same on every database.

use idem_messaging::inbox::{Answer, AsAnswer, MessageError, Received};
use idem_messaging::outbox::{EventError, OutboxError};
use idem_messaging::versions::{VersionError, VersionGap};
use idem_runtime::handler::OperationSpec;
use idem_runtime::{IdempotencyKey, Operation, Replayable};

use super::calls::{Asked, Fate};
use super::fact::Fact;

/// The operation of the callers, from which the ids of their events follow.
pub const POST: Operation = Operation::new("torture", "post");

/// The reason why a handler has no result.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// An error of the library.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    /// An error of the body's own statements.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// An error of the outbox.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    /// The event is refused.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The message cannot be read.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The versions could not be written.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// An earlier event of the partition has not come.
    #[error(transparent)]
    Gap(#[from] VersionGap),
    /// The projection has this number, although the inbox has no record of the message.
    #[error("number {0} is in the projection already")]
    Stale(i64),
    /// The body fails on purpose.
    #[error("the body fails on purpose")]
    OnPurpose,
}

impl AsAnswer for DeskError {
    fn as_answer(&self) -> Answer {
        match self {
            Self::Idempotency(error) => error.as_answer(),
            Self::Database(error)
            | Self::Outbox(OutboxError::Database(error))
            | Self::Version(VersionError::Database(error)) => error.as_answer(),
            Self::Message(error) => error.as_answer(),
            Self::Gap(error) => error.as_answer(),
            Self::OnPurpose => Answer::failed(self),
            Self::Outbox(_) | Self::Event(_) | Self::Version(_) | Self::Stale(_) => {
                Answer::permanent(self)
            }
        }
    }
}

/// The handlers over the pool of one database.
pub trait Desk: Clone + Send + Sync + 'static {
    /// Has an effect, and appends its event. The handler of the callers.
    fn post(
        &self,
        key: &IdempotencyKey,
        asked: &Asked,
        fate: Fate,
    ) -> impl Future<Output = Result<Replayable<i64>, DeskError>> + Send;

    /// Books an event in a table without a constraint. The handler of a consumer.
    fn book(
        &self,
        key: &IdempotencyKey,
        fact: &Received<Fact>,
        fate: Fate,
    ) -> impl Future<Output = Result<Replayable<()>, DeskError>> + Send;

    /// Shows an event in a projection behind a version guard. The handler of another consumer.
    fn show(
        &self,
        key: &IdempotencyKey,
        fact: &Received<Fact>,
        fate: Fate,
    ) -> impl Future<Output = Result<Replayable<()>, DeskError>> + Send;

    /// Returns the operations of [`book`](Self::book) and [`show`](Self::show).
    fn operations() -> [OperationSpec; 2];

    /// Counts the effects that the consumers have not had yet.
    fn backlog(&self) -> impl Future<Output = Result<i64, sqlx::Error>> + Send;

    /// Reads sequence number and payload of events beyond a number. For a planted fault.
    fn appended_after(
        &self,
        seq: i64,
    ) -> impl Future<Output = Result<Vec<(i64, Vec<u8>)>, sqlx::Error>> + Send;

    /// Writes that an event was published. For a planted fault.
    fn mark_published(&self, seq: i64) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
}

/// Generates the handlers over one database. The arguments are the types of pool and transaction.
macro_rules! desk {
    ($pool:ty, $transaction:ty) => {
        mod annotated {
            use std::time::Duration;

            use idem_messaging::inbox::Received;
            use idem_messaging::outbox::{Origin, Outbox};
            use idem_messaging::versions::{Advance, Versions};
            use idem_runtime::handler::{DescribeOperation as _, OperationSpec};
            use idem_runtime::{IdempotencyKey, Replayable, idempotent};
            use idem_tests::torture::choice;
            use tokio::time::sleep;

            use super::*;
            use crate::torture::calls::{Asked, Fate};
            use crate::torture::desk::{Desk, DeskError, POST};
            use crate::torture::fact::{Fact, PARTITIONS};
            use crate::torture::statements::{
                BACKLOG, appended_after, count, counted, published, write_at_consumer, write_effect,
            };

            #[idempotent(namespace = "torture", operation = "post", skip(fate))]
            async fn post(
                tx: &mut $transaction,
                key: &IdempotencyKey,
                asked: &Asked,
                fate: Fate,
            ) -> Result<i64, DeskError> {
                let Asked {
                    partition,
                    is_locked,
                } = *asked;
                let mut number = 0;
                if partition < PARTITIONS {
                    sqlx::raw_sql(count(partition)).execute(&mut **tx).await?;
                    number = sqlx::query_scalar(counted(partition))
                        .fetch_one(&mut **tx)
                        .await?;
                }
                let fact = Fact {
                    key: key.as_str().to_owned(),
                    partition,
                    number,
                };
                let event = fact.event(&Origin::of(POST, key)?)?;
                let id = event.id().clone();
                sqlx::raw_sql(write_effect(id.as_str(), &fact))
                    .execute(&mut **tx)
                    .await?;
                let outbox = Outbox::new();
                if is_locked {
                    outbox.append_ordered(tx, event).await?;
                } else {
                    outbox.append(tx, event).await?;
                }
                match fate {
                    Fate::Succeeds => Ok(number),
                    Fate::Lingers => {
                        let millis = 20 + choice(number.cast_unsigned(), 3) % 40;
                        sleep(Duration::from_millis(millis)).await;
                        Ok(number)
                    }
                    Fate::Fails => Err(DeskError::OnPurpose),
                }
            }

            #[idempotent(namespace = "ledger", retention = "7d", skip(fate), marker = Book)]
            async fn book(
                tx: &mut $transaction,
                key: &IdempotencyKey,
                fact: &Received<Fact>,
                fate: Fate,
            ) -> Result<(), DeskError> {
                sqlx::raw_sql(write_at_consumer("booked", fact))
                    .execute(&mut **tx)
                    .await?;
                match fate {
                    Fate::Fails => Err(DeskError::OnPurpose),
                    Fate::Succeeds | Fate::Lingers => Ok(()),
                }
            }

            #[idempotent(namespace = "projection", retention = "7d", skip(fate), marker = Show)]
            async fn show(
                tx: &mut $transaction,
                key: &IdempotencyKey,
                fact: &Received<Fact>,
                fate: Fate,
            ) -> Result<(), DeskError> {
                if let Some(partition) = fact.ordered_in() {
                    let advanced = Versions::new()
                        .advance(tx, "shown", partition, fact.number)
                        .await?;
                    if let Advance::Stale { .. } = advanced {
                        return Err(DeskError::Stale(fact.number));
                    }
                    advanced.or_gap(fact.number)?;
                }
                sqlx::raw_sql(write_at_consumer("shown", fact))
                    .execute(&mut **tx)
                    .await?;
                match fate {
                    Fate::Fails => Err(DeskError::OnPurpose),
                    Fate::Succeeds | Fate::Lingers => Ok(()),
                }
            }

            impl Desk for $pool {
                async fn post(
                    &self,
                    key: &IdempotencyKey,
                    asked: &Asked,
                    fate: Fate,
                ) -> Result<Replayable<i64>, DeskError> {
                    post(self, key, asked, fate).await
                }

                async fn book(
                    &self,
                    key: &IdempotencyKey,
                    fact: &Received<Fact>,
                    fate: Fate,
                ) -> Result<Replayable<()>, DeskError> {
                    book(self, key, fact, fate).await
                }

                async fn show(
                    &self,
                    key: &IdempotencyKey,
                    fact: &Received<Fact>,
                    fate: Fate,
                ) -> Result<Replayable<()>, DeskError> {
                    show(self, key, fact, fate).await
                }

                fn operations() -> [OperationSpec; 2] {
                    [Book::OPERATION.into(), Show::OPERATION.into()]
                }

                async fn backlog(&self) -> Result<i64, sqlx::Error> {
                    sqlx::query_scalar(BACKLOG).fetch_one(self).await
                }

                async fn appended_after(
                    &self,
                    seq: i64,
                ) -> Result<Vec<(i64, Vec<u8>)>, sqlx::Error> {
                    sqlx::query_as(appended_after(seq)).fetch_all(self).await
                }

                async fn mark_published(&self, seq: i64) -> Result<(), sqlx::Error> {
                    sqlx::raw_sql(published(seq)).execute(self).await?;
                    Ok(())
                }
            }
        }
    };
}

pub(crate) use desk;
