//! The ledger itself: enqueueing, looking up, giving attempts back, purging.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use idem_messaging::outbox::{EventId, Outbox, OutboxError, Relay};
use reqwest_middleware::ClientWithMiddleware;
use sqlx::{Pool, Transaction};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::entry::LedgerEntry;
use super::error::LedgerError;
use super::request::StoredRequest;
use super::schema::queue;
use super::sender::LedgerSender;
use super::store::{LedgerDatabase, micros};

/// The longest time between two looks at a request that somebody waits for: a worker of another process may settle it.
const LOOK: Duration = Duration::from_secs(1);

/// The most rows that one transaction purges.
const BATCH: u32 = 1_000;

/// A ledger of requests: they are enqueued in the caller's transaction, and sent by a [`worker`](Self::worker) after COMMIT.
///
/// Clones share the hints that wake the workers and those who wait in this process. [The module](super) has an example.
#[derive(Clone, Debug)]
pub struct Ledger {
    queue: Outbox,
    settled: Arc<Notify>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

impl Ledger {
    /// Creates a ledger on the tables `idem_ledger` and `idem_ledger_outbox`.
    pub fn new() -> Self {
        Self {
            queue: queue(),
            settled: Arc::default(),
        }
    }

    /// Stores a request and its key in the transaction: two INSERTs. It is sent if and only if the transaction is committed.
    ///
    /// The key is that of the header `Idempotency-Key`, or a new one. The id follows from key and host: a caller that keeps
    /// either can look the request up after a restart.
    ///
    /// # Errors
    /// - [`LedgerError::Key`], [`Form`](LedgerError::Form) and [`TooLong`](LedgerError::TooLong) if the request cannot be
    ///   stored: a safe method, an address without a host, credentials in the headers.
    /// - [`LedgerError::Duplicate`] if the ledger has a request with this key to this host.
    /// - [`OutboxError::NoTransaction`] if the transaction was ended by a raw `COMMIT` or `ROLLBACK`.
    /// - Any error of the database. On PostgreSQL the transaction is then aborted.
    pub async fn enqueue<DB: LedgerDatabase, B: Into<Bytes>>(
        &self,
        tx: &mut Transaction<'_, DB>,
        request: Request<B>,
    ) -> Result<EventId, LedgerError> {
        let (stored, event) = StoredRequest::new(request)?;
        // First: it tells whether there is a transaction at all.
        let id = match self.queue.append(tx, event).await {
            Err(OutboxError::Duplicate { id }) => return Err(LedgerError::Duplicate { id }),
            appended => appended?,
        };
        if DB::insert_request(tx, &stored).await? {
            return Ok(id);
        }
        // The older one was answered. Its event is sent to nobody: the worker finds the answer.
        Err(LedgerError::Duplicate { id })
    }

    /// Returns the worker that sends what was committed, in any number of processes. Its methods set lease, attempts and
    /// backoff: 16 attempts, each of at most 20 seconds, under a lease of 2 minutes.
    ///
    /// `client` brings what no table holds: credentials, by default headers or a middleware of reqwest-middleware. Build it by
    /// [`client`](crate::client()), whose redirects do not carry the key away.
    pub fn worker<DB: LedgerDatabase>(
        &self,
        pool: Pool<DB>,
        client: ClientWithMiddleware,
    ) -> Relay<DB, LedgerSender<DB>> {
        let sender = LedgerSender::new(pool.clone(), client, self.settled.clone());
        Relay::new(pool, &self.queue, sender)
            .publish_timeout(Duration::from_secs(30))
            .lease(Duration::from_mins(2))
    }

    /// Looks a request up: `None` if its transaction was not committed, or if it was purged.
    ///
    /// # Errors
    /// - [`LedgerError::Unreadable`] if a newer build wrote the row.
    /// - Any error of the database.
    pub async fn entry<DB: LedgerDatabase>(
        &self,
        pool: &Pool<DB>,
        id: &EventId,
    ) -> Result<Option<LedgerEntry>, LedgerError> {
        let mut conn = pool.acquire().await?;
        let row = DB::look_up_request(&mut conn, id.as_str()).await?;
        row.map(|row| row.read(id)).transpose()
    }

    /// Waits until a request is answered, refused or dead. It holds no connection meanwhile, and can be dropped. Bound it
    /// with a time-out: without a worker it waits for ever.
    ///
    /// # Errors
    /// - [`LedgerError::Missing`] if the ledger has no such request: call it after COMMIT.
    /// - The errors of [`entry`](Self::entry).
    pub async fn settled<DB: LedgerDatabase>(
        &self,
        pool: &Pool<DB>,
        id: &EventId,
    ) -> Result<LedgerEntry, LedgerError> {
        loop {
            let notified = self.settled.notified();
            tokio::pin!(notified);
            // Before the look, so that what is settled after it is noticed.
            notified.as_mut().enable();
            let entry = self.entry(pool, id).await?;
            let entry = entry.ok_or_else(|| LedgerError::Missing { id: id.clone() })?;
            if entry.state.is_settled() {
                return Ok(entry);
            }
            let _woken_or_time = timeout(LOOK, notified).await;
        }
    }

    /// Gives a dead request its attempts back. It is sent with the key that it had. Returns whether there was such a request.
    ///
    /// # Errors
    /// [`OutboxError::Database`] if the table or a right is missing, or the server cannot be reached.
    pub async fn requeue<DB: LedgerDatabase>(
        &self,
        pool: &Pool<DB>,
        id: &EventId,
    ) -> Result<bool, LedgerError> {
        let requeued = self.queue.requeue(pool, id).await?;
        self.queue.wake();
        Ok(requeued)
    }

    /// Returns the queue, to pause a host, or to requeue all its dead requests: its topics are the hosts, with their ports. Do
    /// not purge its dead events: their requests would stay open, and nobody would send them.
    pub fn queue(&self) -> &Outbox {
        &self.queue
    }

    /// Deletes requests that were answered or refused longer ago than `retention`, and returns their number. A key that is
    /// enqueued again afterwards is sent again.
    ///
    /// # Errors
    /// Any error of the database. What was deleted before stays so.
    pub async fn purge<DB: LedgerDatabase>(
        &self,
        pool: &Pool<DB>,
        retention: Duration,
    ) -> Result<u64, LedgerError> {
        let mut purged = 0;
        loop {
            let mut conn = pool.acquire().await?;
            let batch = DB::purge_requests(&mut conn, micros(retention), BATCH).await?;
            purged += batch;
            if batch < u64::from(BATCH) {
                return Ok(purged);
            }
        }
    }
}
