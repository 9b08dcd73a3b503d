//! The notice to a supervisor: an effect in another service, under a lease.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use idem_messaging::inbox::{Answer, AsAnswer, MessageError, Received};
use idem_runtime::store::Store;
use idem_runtime::{Attempt, IdempotencyKey, Namespace, idempotent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::database::Pool;
use crate::fact::CaseEscalated;
use crate::notifier::{Notifier, NotifierError, Receipt};
use crate::problem::{internal, of_database, refusal};

/// What became of a message.
#[derive(Debug, Serialize, Deserialize)] // recorded, and replayed
pub enum Notified {
    /// The supervisor was told.
    Sent(Receipt),
    /// Another message has told the same fact, and its notice is the one.
    SentByMessage(String),
}

/// The reasons why there is no notice.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    /// The message is not what was agreed on.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The notifier gave no receipt.
    #[error(transparent)]
    Notifier(#[from] NotifierError),
    /// An error of the database.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// An error of the library.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

impl AsAnswer for NotifyError {
    fn as_answer(&self) -> Answer {
        match self {
            Self::Message(error) => error.as_answer(),
            // The next delivery is answered that the outcome is unknown, and the message is parked.
            Self::Notifier(error) if error.leaves_doubt() => Answer::in_doubt(self),
            Self::Notifier(_) => Answer::failed(self),
            Self::Database(error) => error.as_answer(),
            Self::Idempotency(error) => error.as_answer(),
        }
    }
}

impl IntoResponse for NotifyError {
    fn into_response(self) -> Response {
        match self {
            Self::Notifier(_) => refusal(StatusCode::BAD_GATEWAY, "no-receipt", &self.to_string()),
            Self::Database(error) => of_database(&error),
            Self::Message(_) => internal(),
            Self::Idempotency(error) => error.into_response(),
        }
    }
}

/// Tells a supervisor. No second notice is sent while nobody knows whether the first was.
///
/// # Errors
/// As the error's variants say.
#[idempotent(
    namespace = "notices",
    lease = "30s",
    on_lapse = "unknown",
    retention = "7d",
    skip(pool, notifier),
    marker = Notify
)]
pub async fn notify(
    attempt: &Attempt,
    key: &IdempotencyKey,
    pool: Pool,
    notifier: Notifier,
    fact: Received<CaseEscalated>,
) -> Result<Notified, NotifyError> {
    // The second guard: the key tells a message delivered twice, and the primary key of `notice` a fact told under two
    // ids. The message that is there first is the one that notifies.
    let message: String = sqlx::query_scalar(
        "INSERT INTO notice (case_id, version, message) VALUES ($1, $2, $3)
         ON CONFLICT (case_id, version) DO UPDATE SET message = notice.message RETURNING message",
    )
    .bind(&fact.case)
    .bind(fact.version)
    .bind(key.as_str())
    .fetch_one(&pool)
    .await?;
    if message != key.as_str() {
        return Ok(Notified::SentByMessage(message));
    }
    // The notifier gets the same key on every attempt.
    let receipt = notifier.deliver(&attempt.external_key(), &fact).await;
    if receipt.as_ref().is_err_and(NotifierError::leaves_doubt) {
        attempt.outcome_unknown();
    }
    Ok(Notified::Sent(receipt?))
}

/// Asks the notifier about the notices of unknown outcome, records its answers, and returns the number settled. The
/// messages that are parked for them come back, and are answered from these records.
///
/// # Errors
/// As the error's variants say; outcomes that were settled before stay settled.
pub async fn reconcile(pool: &Pool, notifier: &Notifier) -> Result<usize, NotifyError> {
    let store = Store::<Value, Notified>::new(Namespace::from_static("notices"));
    let unknown = {
        let mut conn = pool.acquire().await?;
        let mut records = store.in_connection(&mut *conn);
        records.lapse_overdue("notify", 100).await?;
        records.list_unknown(100, None).await?
    };
    for unknown in &unknown {
        // No connection is held during the call: others need it meanwhile.
        let found = notifier.look_up(&unknown.external_key()).await?;
        let mut conn = pool.acquire().await?;
        let mut records = store.in_connection(&mut *conn);
        match found {
            Some(receipt) => {
                let sent = Notified::Sent(receipt);
                records.resolve_completed(unknown, &sent).await?;
            }
            None => records.resolve_never_happened(unknown).await?,
        }
    }
    Ok(unknown.len())
}
