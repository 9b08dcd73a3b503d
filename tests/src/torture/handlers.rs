//! The handlers, the same on every database.

use std::time::Duration;

use idem_runtime::IdempotencyKey;

use super::calls::{Asked, Done, Fate, Refused};
use super::notices::{Lapse, Outside};
use super::planted::Planted;

/// The write of a body that makes COMMIT fail.
#[derive(Clone, Copy, Debug)]
pub struct Doom {
    /// The statements; a run uses one of them.
    pub statements: &'static [&'static str],
    /// Whether the statement itself may fail. Its error is ignored.
    pub fails: bool,
}

impl Doom {
    /// Returns the statement for a run.
    pub fn of(self, run: i64) -> &'static str {
        let chosen = run.unsigned_abs() % self.statements.len() as u64;
        self.statements[usize::try_from(chosen).unwrap_or(0)]
    }
}

/// Returns the key of this name, in the global scope.
///
/// # Errors
///
/// Returns an error if the name is not a valid key.
pub fn named(name: &str) -> Result<IdempotencyKey, Refused> {
    let key = name.parse::<IdempotencyKey>()?;
    Ok(key.global())
}

/// The message of a body's intended panic; the client's panic hook does not print it.
pub const ON_PURPOSE: &str = "the body panics on purpose";

/// The calls that a client of this engine can make: the annotated handlers, and the faulty ones.
pub trait Bank: Clone + Send + Sync + 'static {
    /// Calls an annotated handler.
    fn call(&self, asking: Asking) -> impl Future<Output = Result<(Done, bool), Refused>> + Send;

    /// Calls the annotated handler whose effect has already been written.
    fn note(
        &self,
        key: &str,
        asked: Asked,
        done: Done,
    ) -> impl Future<Output = Result<(Done, bool), Refused>> + Send;

    /// Returns the recorded result of a key, for any request.
    fn recorded(&self, key: &str) -> impl Future<Output = Result<Option<Done>, Refused>> + Send;

    /// Calls the leased handler of this policy.
    fn notify(
        &self,
        key: &IdempotencyKey,
        lapse: Lapse,
        outside: Outside,
        work: Duration,
    ) -> impl Future<Output = Result<(), Refused>> + Send;

    /// Holds a lease until `full` comes to its end; whether it was lost before.
    fn outlive(
        &self,
        key: &IdempotencyKey,
        planted: Planted,
        full: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = Result<bool, Refused>> + Send;

    /// Keeps one of the pool's connections, in a transaction.
    fn hold(&self, time: Duration) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    /// Writes the effect in its own transaction, with or without a record in it. The only fate that
    /// applies is the refusal at COMMIT, whose error is then ignored.
    fn act(
        &self,
        key: &str,
        asked: Asked,
        record: bool,
        fate: Fate,
    ) -> impl Future<Output = Result<Done, Refused>> + Send;
}

/// One try of a call.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The key.
    pub key: String,
    /// The request.
    pub asked: Asked,
    /// How the handler is called.
    pub way: super::calls::Way,
    /// The outcome of its body.
    pub fate: Fate,
}

/// Generates the handlers over one database's transaction and the operations of its pool. The
/// arguments are the types of pool, transaction and connection, the quoted name of the key's
/// column, and the write that COMMIT refuses.
macro_rules! bank {
    ($pool:ty, $transaction:ty, $connection:ty, $column:literal, $doom:expr) => {
        mod annotated {
            use idem_runtime::{IdempotencyKey, idempotent};

            use std::time::Duration;

            use tokio::time::sleep;

            use super::*;
            use crate::torture::calls::{Fate, What};
            use crate::torture::handlers::{Asking, Bank, Doom, ON_PURPOSE, named};
            use crate::torture::notices::{Lapse, Outside, notify_again, notify_once};
            use crate::torture::outlive::outlive;
            use crate::torture::planted::Planted;
            use crate::torture::statements::{fresh_run, loose_record, number_of, writes};

            /// Writes the effect.
            async fn write(
                conn: &mut $connection,
                key: &str,
                asked: &Asked,
                fate: Fate,
            ) -> Result<Done, Refused> {
                let run = fresh_run(fate);
                for statement in writes(key, asked, run) {
                    sqlx::raw_sql(statement).execute(&mut *conn).await?;
                }
                let number = match asked.what {
                    What::Transfer => None,
                    What::Order => {
                        sqlx::query_scalar(number_of(run))
                            .persistent(false)
                            .fetch_one(&mut *conn)
                            .await?
                    }
                };
                if fate == Fate::RefusedAtCommit {
                    let doom: Doom = $doom;
                    let doomed = sqlx::raw_sql(doom.of(run)).execute(conn).await;
                    if !doom.fails {
                        doomed?;
                    }
                }
                Ok(Done { run, number })
            }

            async fn body(
                tx: &mut $transaction,
                key: &IdempotencyKey,
                asked: &Asked,
                fate: Fate,
                already: Option<Done>,
            ) -> Result<Done, Refused> {
                if let Some(done) = already {
                    return Ok(done);
                }
                let done = write(&mut **tx, key.as_str(), asked, fate).await?;
                match fate {
                    Fate::Succeeds | Fate::RefusedAtCommit => Ok(done),
                    Fate::Declines => Err(Refused::Declined {
                        amount: asked.amount,
                    }),
                    Fate::BankDown => Err(Refused::BankDown),
                    Fate::Panics => panic!("{ON_PURPOSE}"),
                }
            }

            $crate::torture::handlers::handler!(transfer, "transfer", $transaction);
            $crate::torture::handlers::handler!(order, "order", $transaction);
            $crate::torture::handlers::handler!(
                transfer_patiently,
                "transfer",
                $transaction,
                on_conflict = "wait",
                wait = "1s"
            );
            $crate::torture::handlers::handler!(
                order_patiently,
                "order",
                $transaction,
                on_conflict = "wait",
                wait = "1s"
            );

            impl Bank for $pool {
                async fn call(&self, asking: Asking) -> Result<(Done, bool), Refused> {
                    let Asking {
                        key,
                        asked,
                        way,
                        fate,
                    } = asking;
                    let key = named(&key)?;
                    let done = match (way, asked.what) {
                        (Way::Pool, What::Transfer) => {
                            transfer(self, &key, &asked, fate, None).await
                        }
                        (Way::Pool, What::Order) => order(self, &key, &asked, fate, None).await,
                        (Way::Patient, What::Transfer) => {
                            transfer_patiently(self, &key, &asked, fate, None).await
                        }
                        (Way::Patient, What::Order) => {
                            order_patiently(self, &key, &asked, fate, None).await
                        }
                        (Way::Joined, what) => {
                            // If a begin is dropped, it may leave its connection inside a
                            // transaction (sqlx 0.9), and the next call on that connection is
                            // refused. A careful caller lets the begin finish.
                            let pool = self.clone();
                            let begun = tokio::spawn(async move { pool.begin().await }).await;
                            let mut tx = begun.map_err(|_| sqlx::Error::WorkerCrashed)??;
                            let done = match what {
                                What::Transfer => transfer(&mut tx, &key, &asked, fate, None).await,
                                What::Order => order(&mut tx, &key, &asked, fate, None).await,
                            };
                            // A permanent failure is recorded in this transaction.
                            if matches!(done, Ok(_) | Err(Refused::Declined { .. })) {
                                tx.commit().await?;
                            } else {
                                tx.rollback().await?;
                            }
                            done
                        }
                    };
                    done.map(|done| (*done, done.replayed()))
                }

                async fn note(
                    &self,
                    key: &str,
                    asked: Asked,
                    done: Done,
                ) -> Result<(Done, bool), Refused> {
                    let key = named(&key)?;
                    let noted = match asked.what {
                        What::Transfer => {
                            transfer(self, &key, &asked, Fate::Succeeds, Some(done)).await?
                        }
                        What::Order => {
                            order(self, &key, &asked, Fate::Succeeds, Some(done)).await?
                        }
                    };
                    Ok((*noted, noted.replayed()))
                }

                async fn recorded(&self, key: &str) -> Result<Option<Done>, Refused> {
                    let sql = format!("SELECT result FROM idem_record WHERE {} = '{key}'", $column);
                    let found: Option<Option<Vec<u8>>> = sqlx::query_scalar(AssertSqlSafe(sql))
                        .persistent(false)
                        .fetch_optional(self)
                        .await?;
                    Ok(found
                        .flatten()
                        .and_then(|bytes| serde_json::from_slice(&bytes).ok()))
                }

                async fn notify(
                    &self,
                    key: &IdempotencyKey,
                    lapse: Lapse,
                    outside: Outside,
                    work: Duration,
                ) -> Result<(), Refused> {
                    let sent = match lapse {
                        Lapse::Unknown => notify_once(self, key, outside, work).await?,
                        Lapse::Retry => notify_again(self, key, outside, work).await?,
                    };
                    Ok(sent.into_inner())
                }

                async fn outlive(
                    &self,
                    key: &IdempotencyKey,
                    planted: Planted,
                    full: impl Future<Output = ()> + Send + 'static,
                ) -> Result<bool, Refused> {
                    outlive(self, key, planted, full).await
                }

                async fn hold(&self, time: Duration) -> Result<(), sqlx::Error> {
                    let tx = self.begin().await?;
                    sleep(time).await;
                    tx.rollback().await
                }

                async fn act(
                    &self,
                    key: &str,
                    asked: Asked,
                    record: bool,
                    fate: Fate,
                ) -> Result<Done, Refused> {
                    let mut tx = self.begin().await?;
                    let done = write(&mut tx, key, &asked, fate).await?;
                    if record {
                        sqlx::raw_sql(loose_record($column, key, &asked, &done))
                            .execute(&mut *tx)
                            .await?;
                    }
                    let committed = tx.commit().await;
                    if fate != Fate::RefusedAtCommit {
                        committed?;
                    }
                    Ok(done)
                }
            }
        }
    };
}

/// Generates one annotated handler; the last arguments are further options.
macro_rules! handler {
    ($name:ident, $operation:literal, $transaction:ty $(, $option:ident = $value:literal)*) => {
        #[idempotent(
            namespace = "torture",
            operation = $operation,
            failures = "record",
            skip(fate, already)
            $(, $option = $value)*
        )]
        async fn $name(
            tx: &mut $transaction,
            key: &IdempotencyKey,
            asked: &Asked,
            fate: Fate,
            already: Option<Done>,
        ) -> Result<Done, Refused> {
            body(tx, key, asked, fate, already).await
        }
    };
}

pub(crate) use {bank, handler};
