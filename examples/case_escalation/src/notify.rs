//! The notice to a supervisor: an effect in another service, under a lease.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use idem_runtime::store::Store;
use idem_runtime::{Attempt, IdempotencyKey, Namespace, idempotent};
use reqwest::Client;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::SqlitePool;
use utoipa::ToSchema;

use crate::problem::{internal, refusal};

/// An officer's message.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Words {
    /// The supervisor's address.
    pub to: String,
    /// The message.
    pub text: String,
}

/// The request.
#[derive(Debug, Serialize)] // compared on every retry, and kept in the record
pub struct Notice {
    /// The case that it is about.
    pub case: String,
    /// The supervisor's address.
    pub to: String,
    /// The message.
    pub text: String,
}

/// The notifier's answer.
#[derive(Debug, Serialize, Deserialize, ToSchema)] // recorded, and replayed
pub struct Receipt {
    /// The notifier's name of the notice.
    pub notice: String,
}

/// The client of the other service, which accepts a notice under a key and can be asked for the key later.
#[derive(Debug, Clone)]
pub struct Notifier {
    client: Client,
    url: String,
}

impl Notifier {
    /// Returns a notifier at an origin, `http://host:port`.
    pub fn at(origin: &str) -> Self {
        Self {
            client: Client::new(),
            url: format!("{origin}/notifier"),
        }
    }

    async fn deliver(&self, key: &str, notice: &Notice) -> Result<Receipt, NotifyError> {
        let notice = serde_json::to_vec(notice).map_err(NotifyError::Unreadable)?;
        let request = self.client.post(&self.url).header("idempotency-key", key);
        let answer = request.body(notice).send().await?.error_for_status()?;
        serde_json::from_slice(&answer.bytes().await?).map_err(NotifyError::Unreadable)
    }

    async fn look_up(&self, key: &str) -> Result<Option<Receipt>, NotifyError> {
        let answer = self
            .client
            .get(format!("{}/{key}", self.url))
            .send()
            .await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = answer.error_for_status()?.bytes().await?;
        let receipt = serde_json::from_slice(&answer).map_err(NotifyError::Unreadable)?;
        Ok(Some(receipt))
    }
}

/// The reasons why there is no receipt.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    /// The notifier refused or failed, or its answer is lost.
    #[error("the notifier gave no receipt")]
    NoReceipt(#[from] reqwest::Error),
    /// The answer is not the JSON that was agreed on.
    #[error("the notifier is not understood")]
    Unreadable(#[source] serde_json::Error),
    /// An error of the database.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// An error of the library.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

impl NotifyError {
    /// Returns whether the notice may have been sent all the same: not if the request was never sent, or if the
    /// notifier refused it.
    fn leaves_doubt(&self) -> bool {
        match self {
            Self::NoReceipt(error) => {
                let refused = error
                    .status()
                    .is_some_and(|status| status.is_client_error());
                !error.is_connect() && !refused
            }
            _ => true,
        }
    }
}

impl IntoResponse for NotifyError {
    fn into_response(self) -> Response {
        match self {
            Self::NoReceipt(_) | Self::Unreadable(_) => {
                refusal(StatusCode::BAD_GATEWAY, "no-receipt", &self.to_string())
            }
            Self::Database(_) => internal(),
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
    skip(notifier)
)]
pub async fn notify(
    attempt: &Attempt,
    key: &IdempotencyKey,
    notifier: Notifier,
    notice: Notice,
) -> Result<Receipt, NotifyError> {
    // The notifier gets the same key on every attempt.
    let receipt = notifier.deliver(&attempt.external_key(), &notice).await;
    if receipt.as_ref().is_err_and(NotifyError::leaves_doubt) {
        attempt.outcome_unknown();
    }
    receipt
}

/// Asks the notifier about the notices of unknown outcome, records its answers, and returns the number settled.
///
/// # Errors
/// As the error's variants say; outcomes that were settled before stay settled.
pub async fn reconcile(pool: &SqlitePool, notifier: &Notifier) -> Result<usize, NotifyError> {
    let store = Store::<Value, Receipt>::new(Namespace::from_static("notices"));
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
            Some(receipt) => records.resolve_completed(unknown, &receipt).await?,
            None => records.resolve_never_happened(unknown).await?,
        }
    }
    Ok(unknown.len())
}
