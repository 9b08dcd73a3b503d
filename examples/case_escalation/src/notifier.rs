//! The client of the notifier, which accepts a notice under a key and can be asked for the key later.

use axum::http::StatusCode;
use reqwest::Client;
use serde::{Deserialize, Serialize};

use crate::fact::CaseEscalated;

/// The notifier's answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Receipt {
    /// The notifier's name of the notice.
    pub notice: String,
}

/// The reasons why there is no receipt.
#[derive(Debug, thiserror::Error)]
pub enum NotifierError {
    /// The notifier refused or failed, or its answer is lost.
    #[error("the notifier gave no receipt")]
    NoReceipt(#[from] reqwest::Error),
    /// The answer is not the JSON that was agreed on.
    #[error("the notifier is not understood")]
    Unreadable(#[from] serde_json::Error),
}

impl NotifierError {
    /// Returns whether the notice may have been sent all the same: not if the request was never sent, or if the
    /// notifier refused it.
    pub fn leaves_doubt(&self) -> bool {
        match self {
            Self::NoReceipt(error) => {
                let status = error.status();
                !error.is_connect() && !status.is_some_and(|status| status.is_client_error())
            }
            Self::Unreadable(_) => true,
        }
    }
}

/// The client.
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

    /// Sends a notice.
    ///
    /// # Errors
    /// As the error's variants say.
    pub async fn deliver(&self, key: &str, fact: &CaseEscalated) -> Result<Receipt, NotifierError> {
        let notice = serde_json::to_vec(fact)?;
        let request = self.client.post(&self.url).header("idempotency-key", key);
        let answer = request.body(notice).send().await?.error_for_status()?;
        Ok(serde_json::from_slice(&answer.bytes().await?)?)
    }

    /// Returns the receipt of the notice that was sent under a key, if one was.
    ///
    /// # Errors
    /// As the error's variants say.
    pub async fn look_up(&self, key: &str) -> Result<Option<Receipt>, NotifierError> {
        let url = format!("{}/{key}", self.url);
        let answer = self.client.get(url).send().await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = answer.error_for_status()?.bytes().await?;
        Ok(Some(serde_json::from_slice(&answer)?))
    }
}
