//! What the worker does with one request: sends it, and records the answer.

use std::error::Error;
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::{Extensions, HeaderValue, Method, Response};
use idem_messaging::outbox::{OutboxEvent, PublishError, Publisher};
use reqwest::{Request, Url};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use sqlx::Pool;
use tokio::sync::Notify;

use super::answer::{Settled, decoded, encoded, settled};
use super::store::{AnswerRow, LedgerDatabase, RequestRow};
use crate::error::ClientError;
use crate::key::{IDEMPOTENCY_KEY, Key};
use crate::middleware::{KeyMiddleware, OfLedger};
use crate::retry_after;

/// Sends the requests of a ledger, and records their answers. [`Ledger::worker`](super::Ledger::worker) makes it.
pub struct LedgerSender<DB: LedgerDatabase> {
    pool: Pool<DB>,
    client: ClientWithMiddleware,
    settled: Arc<Notify>,
}

impl<DB: LedgerDatabase> LedgerSender<DB> {
    pub(super) fn new(pool: Pool<DB>, client: ClientWithMiddleware, settled: Arc<Notify>) -> Self {
        // The queue makes the attempts. One more middleware at the bottom reads each answer to its end and keeps the key at
        // its origin, whatever the client is; those of the client let such a request pass.
        let once = KeyMiddleware::of_ledger();
        let client = ClientBuilder::from_client(client).with(once).build();
        Self {
            pool,
            client,
            settled,
        }
    }

    /// Sends the request once.
    async fn send(&self, row: RequestRow) -> Result<Response<Bytes>, PublishError> {
        let request = request(row).map_err(PublishError::permanent)?;
        let mut extensions = Extensions::new();
        extensions.insert(OfLedger::default());
        let sent = self
            .client
            .execute_with_extensions(request, &mut extensions);
        let response = match sent.await {
            Ok(response) => response,
            Err(error) => return Err(refusal(&error)),
        };
        let status = response.status();
        let headers = response.headers().clone();
        let body = response.bytes().await.map_err(PublishError::retry)?;
        let mut answer = Response::new(body);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }

    async fn record(
        &self,
        id: &str,
        state: Settled,
        answer: &Response<Bytes>,
    ) -> Result<(), PublishError> {
        let row = AnswerRow {
            state: match state {
                Settled::Answered => super::store::ANSWERED,
                Settled::Refused => super::store::REFUSED,
            },
            status: answer.status().as_u16().cast_signed(),
            headers: encoded(answer.headers()),
            body: answer.body().clone(),
        };
        let mut conn = self.pool.acquire().await.map_err(away)?;
        // Nothing is changed if another worker has recorded an answer: the first stays. An answer that the database refuses
        // (it may be too long for it) uses up an attempt, so that the request is not sent for ever.
        DB::record_answer(&mut conn, id, &row)
            .await
            .map_err(PublishError::retry)
    }
}

impl<DB: LedgerDatabase> Publisher for LedgerSender<DB> {
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        let id = event.id().as_str();
        let row = {
            let mut conn = self.pool.acquire().await.map_err(away)?;
            DB::open_request(&mut conn, id).await.map_err(unread)?
        };
        // Settled by an attempt whose worker died before it could say so, and perhaps purged since: nothing is left to do.
        let Some(row) = row else {
            return Ok(());
        };
        let answer = self.send(row).await?;
        let Some(state) = settled(&answer) else {
            let error = format!("the service answered {}", answer.status());
            let wait = retry_after::wait(answer.headers(), SystemTime::now());
            let error = PublishError::retry(error);
            return Err(match wait {
                Some(wait) => error.after(wait.min(LONGEST_WAIT)),
                None => error,
            });
        };
        self.record(id, state, &answer).await?;
        self.settled.notify_waiters();
        Ok(())
    }
}

/// The longest `Retry-After` that is waited for.
const LONGEST_WAIT: std::time::Duration = std::time::Duration::from_hours(1);

/// The database is at fault, and not the request: it uses up no attempt.
fn away(error: sqlx::Error) -> PublishError {
    PublishError::unavailable(error)
}

/// A row that does not decode is at fault itself; of any other error the database is.
fn unread(error: sqlx::Error) -> PublishError {
    match error {
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => PublishError::retry(error),
        error => away(error),
    }
}

fn request(row: RequestRow) -> Result<Request, &'static str> {
    let method =
        Method::from_bytes(row.method.as_bytes()).map_err(|_| "the method is not readable")?;
    let url = Url::parse(&row.url).map_err(|_| "the URL is not readable")?;
    let headers = decoded(&row.headers).ok_or("the headers are not readable")?;
    let key: Key = row.key.parse().map_err(|_| "the key is not readable")?;
    let mut request = Request::new(method, url);
    *request.headers_mut() = headers;
    let value: HeaderValue = key.to_header();
    request.headers_mut().insert(IDEMPOTENCY_KEY, value);
    *request.body_mut() = Some(row.body.into());
    Ok(request)
}

/// Says what an attempt without an answer means.
fn refusal(error: &reqwest_middleware::Error) -> PublishError {
    let text = chain(error);
    match ClientError::of(error) {
        // Another attempt would not change it. Once it is mended, the request can be requeued.
        Some(
            ClientError::Redirect { .. }
            | ClientError::AnswerTooLong { .. }
            | ClientError::Unsendable { .. }
            | ClientError::Key(_),
        ) => PublishError::permanent(text),
        _ => PublishError::retry(text),
    }
}

/// Returns an error with its causes, for `last_error`.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            // Writing to a String cannot fail.
            let _ = write!(text, ": {cause_text}");
        }
        source = cause.source();
    }
    text
}

impl<DB: LedgerDatabase> fmt::Debug for LedgerSender<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerSender").finish_non_exhaustive()
    }
}
