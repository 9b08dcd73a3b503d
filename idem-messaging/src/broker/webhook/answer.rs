//! What an endpoint's answer means.

use std::time::Duration;

use reqwest::header::LOCATION;
use reqwest::{Response, StatusCode};
use tokio::time::{Instant, timeout_at};

use super::retry_after;
use crate::broker::text::header_value;
use crate::outbox::PublishError;

/// The most bytes of a body that are read for the text of an error.
const EXCERPT: usize = 512;

/// For how long a body is waited for: it only decorates an error.
const BODY_TIMEOUT: Duration = Duration::from_secs(1);

/// What the publisher knows of whom it asked.
pub(super) struct Asked {
    pub(super) origin: String,
    pub(super) is_one_receiver: bool,
    pub(super) longest_wait: Duration,
    pub(super) deadline: Instant,
}

/// Returns what the relay does about an answer (Standard Webhooks, *Delivery success and failure*): 2xx is a success, 410 is
/// final, and any other is a failure that is tried again.
pub(super) async fn judge(response: Response, asked: &Asked) -> Result<(), PublishError> {
    let status = response.status();
    if status.is_success() {
        // Its body says nothing that could change that.
        return Ok(());
    }
    let wait = retry_after::wait(response.headers(), asked.longest_wait);
    let location = response.headers().get(LOCATION).cloned();
    let is_redirect = status.is_redirection();
    let text = match location {
        Some(location) if is_redirect => {
            let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
            let target = location.split(['?', '#']).next().unwrap_or_default();
            format!(
                "{} answered {status} with the location `{}`; no redirect is followed: set the endpoint's URL to where it \
                 is now",
                asked.origin,
                header_value(target)
            )
        }
        _ => failure(response, asked).await,
    };
    let error = match status {
        StatusCode::GONE => PublishError::permanent(format!(
            "{text}; the endpoint wants no more events: disable it"
        )),
        StatusCode::TOO_MANY_REQUESTS if asked.is_one_receiver => PublishError::unavailable(text),
        _ => PublishError::retry(text),
    };
    Err(match wait {
        Some(wait) => error.after(wait),
        None => error,
    })
}

async fn failure(response: Response, asked: &Asked) -> String {
    let status = response.status();
    let body = excerpt(response, asked.deadline).await;
    if body.is_empty() {
        return format!("{} answered {status}", asked.origin);
    }
    format!(
        "{} answered {status}: {}",
        asked.origin,
        header_value(&body)
    )
}

/// Returns the beginning of a body. What comes too late, or is more than the bound, is not waited for: the connection is
/// closed.
async fn excerpt(mut response: Response, deadline: Instant) -> String {
    let deadline = deadline.min(Instant::now() + BODY_TIMEOUT);
    let mut body = Vec::new();
    while body.len() < EXCERPT
        && let Ok(Ok(Some(chunk))) = timeout_at(deadline, response.chunk()).await
    {
        let room = EXCERPT - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    String::from_utf8_lossy(&body).trim().to_owned()
}
