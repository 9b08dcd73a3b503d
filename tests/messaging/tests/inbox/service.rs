//! The handlers, on each database.

use std::sync::Arc;
use std::time::Duration;

use idem_messaging::inbox::{
    Answer, AsAnswer, Consumer, Handler, Message, MessageError, MessageKey, Received,
};
use idem_runtime::{Failure, IdempotencyKey, StoredFailure};
use serde::{Deserialize, Serialize};

use crate::databases::{Db, Fresh};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CaseEscalated {
    pub(crate) case: i64,
    pub(crate) level: i64,
    /// What the body does after its write.
    #[serde(default)]
    pub(crate) then: Option<Then>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Then {
    Fail,
    Reject,
    AskForRetry,
    Panic,
}

#[derive(Debug, thiserror::Error, Failure)]
pub(crate) enum NotifyError {
    #[error("the printer is out of paper")]
    OutOfPaper,
    #[error("an earlier event is missing")]
    NotYet,
    #[error("case {case} has nobody to notify")]
    #[failure(permanent)]
    NobodyToNotify { case: i64 },
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

pub(crate) const ASKED: Duration = Duration::from_secs(42);

impl AsAnswer for NotifyError {
    fn as_answer(&self) -> Answer {
        match self {
            Self::OutOfPaper => Answer::failed(self),
            Self::NotYet => Answer::retry(ASKED, self),
            Self::NobodyToNotify { .. } | Self::Recorded(_) => Answer::permanent(self),
            Self::Message(error) => error.as_answer(),
            Self::Database(error) => error.as_answer(),
            Self::Idempotency(error) => error.as_answer(),
        }
    }
}

fn then(event: &CaseEscalated) -> Result<(), NotifyError> {
    match event.then {
        None => Ok(()),
        Some(Then::Fail) => Err(NotifyError::OutOfPaper),
        Some(Then::AskForRetry) => Err(NotifyError::NotYet),
        Some(Then::Reject) => Err(NotifyError::NobodyToNotify { case: event.case }),
        Some(Then::Panic) => panic!("the body panics on purpose"),
    }
}

pub(crate) const TABLES: &str = "\
    CREATE TABLE notification (case_id BIGINT NOT NULL, level BIGINT NOT NULL);
    CREATE TABLE told (case_id BIGINT NOT NULL, level BIGINT NOT NULL);
    CREATE UNIQUE INDEX told_once ON told (case_id, level);";

/// The consumers of a database, and what they have done.
pub(crate) trait Service: Fresh {
    /// Inserts into `notification`.
    fn notifier(db: &Db<Self>) -> Consumer<impl Handler>;
    /// Another operation in the notifier's namespace.
    fn intruder(db: &Db<Self>) -> Consumer<impl Handler>;
    /// As the notifier, in a namespace of its own, and records its failures.
    fn recorder(db: &Db<Self>) -> Consumer<impl Handler>;
    /// Inserts into `told`, where a fact stands once.
    fn teller(db: &Db<Self>) -> Consumer<impl Handler>;
    /// Returns the number of rows of `notification`, `told` and `idem_record`.
    async fn counts(db: &Db<Self>) -> (i64, i64, i64);
}

macro_rules! service {
    ($name:ident, $database:ty, $tx:ty, $notify:literal, $tell:literal) => {
        mod $name {
            use idem_runtime::handler::DescribeOperation as _;
            use idem_runtime::idempotent;
            use idem_tests::gate::{GatePoint, pass};

            use super::*;

            #[idempotent(namespace = "notifier", operation = "notify", marker = Notify)]
            async fn notify(
                tx: &mut $tx,
                key: &IdempotencyKey,
                event: &Received<CaseEscalated>,
            ) -> Result<(), NotifyError> {
                let insert = sqlx::query($notify).bind(event.case).bind(event.level);
                insert.execute(&mut **tx).await?;
                pass(key.as_str(), GatePoint::AfterWrite).await;
                then(event)
            }

            #[idempotent(namespace = "notifier", operation = "intrude", marker = Intrude)]
            async fn intrude(
                tx: &mut $tx,
                key: &IdempotencyKey,
                event: &Received<CaseEscalated>,
            ) -> Result<(), NotifyError> {
                let insert = sqlx::query($notify).bind(event.case).bind(event.level);
                insert.execute(&mut **tx).await?;
                Ok(())
            }

            #[idempotent(namespace = "recorder", failures = "record", marker = Record)]
            async fn record(
                tx: &mut $tx,
                key: &IdempotencyKey,
                event: &Received<CaseEscalated>,
            ) -> Result<(), NotifyError> {
                let insert = sqlx::query($notify).bind(event.case).bind(event.level);
                insert.execute(&mut **tx).await?;
                then(event)
            }

            #[idempotent(namespace = "teller", marker = Tell)]
            async fn tell(
                tx: &mut $tx,
                key: &IdempotencyKey,
                event: &Received<CaseEscalated>,
            ) -> Result<bool, NotifyError> {
                let insert = sqlx::query($tell).bind(event.case).bind(event.level);
                let done = insert.execute(&mut **tx).await?;
                Ok(done.rows_affected() == 1) // false: somebody was told under another id
            }

            macro_rules! consumer {
                ($db:ident, $marker:ident, $handler:ident) => {{
                    let pool = $db.pool.clone();
                    let handler = move |key: IdempotencyKey, message: Arc<Message>| {
                        let pool = pool.clone();
                        async move {
                            let event = Received::<CaseEscalated>::json(&message)?;
                            $handler(&pool, &key, &event).await
                        }
                    };
                    Consumer::new($marker::OPERATION, MessageKey::broker_id(), handler)
                        .expect("a consumer")
                }};
            }

            impl Service for $database {
                fn notifier(db: &Db<Self>) -> Consumer<impl Handler> {
                    consumer!(db, Notify, notify)
                }

                fn intruder(db: &Db<Self>) -> Consumer<impl Handler> {
                    consumer!(db, Intrude, intrude)
                }

                fn recorder(db: &Db<Self>) -> Consumer<impl Handler> {
                    consumer!(db, Record, record)
                }

                fn teller(db: &Db<Self>) -> Consumer<impl Handler> {
                    consumer!(db, Tell, tell)
                }

                async fn counts(db: &Db<Self>) -> (i64, i64, i64) {
                    let text = "SELECT (SELECT count(*) FROM notification), (SELECT count(*) FROM told), \
                        (SELECT count(*) FROM idem_record)";
                    let row = sqlx::query_as(text).fetch_one(&db.pool).await;
                    row.expect("three numbers")
                }
            }
        }
    };
}

service!(
    postgres,
    sqlx::Postgres,
    sqlx::PgTransaction<'_>,
    "INSERT INTO notification (case_id, level) VALUES ($1, $2)",
    "INSERT INTO told (case_id, level) VALUES ($1, $2) ON CONFLICT (case_id, level) DO NOTHING"
);
service!(
    mysql,
    sqlx::MySql,
    sqlx::MySqlTransaction<'_>,
    "INSERT INTO notification (case_id, level) VALUES (?, ?)",
    "INSERT IGNORE INTO told (case_id, level) VALUES (?, ?)"
);
service!(
    sqlite,
    sqlx::Sqlite,
    sqlx::SqliteTransaction<'_>,
    "INSERT INTO notification (case_id, level) VALUES (?1, ?2)",
    "INSERT INTO told (case_id, level) VALUES (?1, ?2) ON CONFLICT (case_id, level) DO NOTHING"
);
