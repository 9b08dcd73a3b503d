//! What an operator does: requeue, republish, pause, resume, purge.

use std::time::Duration;

use idem_runtime::record::Timestamp;
use sqlx::Pool;

use super::append::Outbox;
use super::connection::OutboxConnection;
use super::error::OutboxError;
use super::event::EventId;
use super::store::{DEAD, OutboxDatabase, PUBLISHED, Selection};

/// The most rows that one transaction purges or resumes.
const BATCH: u32 = 1_000;

/// What an operator does, in transactions of its own. Those that purge and resume take at most 1,000 events each: if
/// one fails, what was done before stands, and the method can be called again.
impl Outbox {
    /// Gives a dead event its attempts back. Returns whether there was such an event. It leaves in its old place of the
    /// partition, but later events of the partition may have left already.
    ///
    /// # Errors
    /// [`OutboxError::Database`] if the table or a right is missing, if the server is a standby or cannot be reached, or if a lock
    /// was not free in time. Nothing was changed, unless it is the answer to COMMIT that was lost: then look again.
    pub async fn requeue<DB: OutboxDatabase>(
        &self,
        pool: &Pool<DB>,
        id: &EventId,
    ) -> Result<bool, OutboxError> {
        let selection = Selection::Id(id.as_str().to_owned());
        Ok(self.revive(pool, DEAD, &selection).await? > 0)
    }

    /// Gives all dead events of a topic their attempts back, and returns their number.
    ///
    /// # Errors
    /// [`OutboxError::Database`] if the table or a right is missing, if the server is a standby or cannot be reached, or if a lock
    /// was not free in time. Nothing was changed, unless it is the answer to COMMIT that was lost: then look again.
    pub async fn requeue_topic<DB: OutboxDatabase>(
        &self,
        pool: &Pool<DB>,
        topic: &str,
    ) -> Result<u64, OutboxError> {
        self.revive(pool, DEAD, &Selection::Topic(topic.to_owned()))
            .await
    }

    /// Publishes once more the kept events that were appended at `from` or later and before `to`, and returns their
    /// number. Receivers see the ids that they have seen before.
    ///
    /// # Errors
    /// [`OutboxError::Database`] if the table or a right is missing, if the server is a standby or cannot be reached, or if a lock
    /// was not free in time. Nothing was changed, unless it is the answer to COMMIT that was lost: then look again.
    pub async fn republish<DB: OutboxDatabase>(
        &self,
        pool: &Pool<DB>,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<u64, OutboxError> {
        self.revive(pool, PUBLISHED, &Selection::Between(from, to))
            .await
    }

    /// Stops the publication of a topic, from each relay's next claim on. Appends go on.
    ///
    /// # Errors
    /// [`OutboxError::Database`] if the table or a right is missing, if the server is a standby or cannot be reached, or if a lock
    /// was not free in time. Nothing was changed, unless it is the answer to COMMIT that was lost: then look again.
    pub async fn pause<DB: OutboxDatabase>(
        &self,
        pool: &Pool<DB>,
        topic: &str,
    ) -> Result<(), OutboxError> {
        let mut conn = OutboxConnection::from_pool(pool).await?;
        DB::pause(conn.get(), &self.table, topic).await?;
        conn.finish();
        Ok(())
    }

    /// Lets the publication of a topic go on, and returns how many events had been held. If it fails, call it again.
    ///
    /// # Errors
    /// [`OutboxError::Database`] if the table or a right is missing, if the server is a standby or cannot be reached, or if a lock
    /// was not free in time. Nothing was changed, unless it is the answer to COMMIT that was lost: then look again.
    pub async fn resume<DB: OutboxDatabase>(
        &self,
        pool: &Pool<DB>,
        topic: &str,
    ) -> Result<u64, OutboxError> {
        let mut conn = OutboxConnection::from_pool(pool).await?;
        let mut total = 0;
        loop {
            let rows = DB::resume(conn.get(), &self.table, topic, BATCH).await?;
            conn.finish();
            total += rows;
            self.wake();
            if rows < u64::from(BATCH) {
                return Ok(total);
            }
        }
    }

    /// Deletes the dead events that were set aside longer ago than `retention`, and returns their number.
    ///
    /// # Errors
    /// [`OutboxError::Database`] if the table or a right is missing, if the server is a standby or cannot be reached, or if a lock
    /// was not free in time. Nothing was changed, unless it is the answer to COMMIT that was lost: then look again.
    pub async fn purge_dead<DB: OutboxDatabase>(
        &self,
        pool: &Pool<DB>,
        retention: Duration,
    ) -> Result<u64, OutboxError> {
        self.purge(pool, DEAD, retention).await
    }

    /// Deletes the kept events that were published longer ago than `retention`, and returns their number. A relay that
    /// [keeps](super::Relay::keep_for) events does so by itself.
    ///
    /// # Errors
    /// [`OutboxError::Database`] if the table or a right is missing, if the server is a standby or cannot be reached, or if a lock
    /// was not free in time. Nothing was changed, unless it is the answer to COMMIT that was lost: then look again.
    pub async fn purge_published<DB: OutboxDatabase>(
        &self,
        pool: &Pool<DB>,
        retention: Duration,
    ) -> Result<u64, OutboxError> {
        self.purge(pool, PUBLISHED, retention).await
    }

    async fn revive<DB: OutboxDatabase>(
        &self,
        pool: &Pool<DB>,
        state: i16,
        selection: &Selection,
    ) -> Result<u64, OutboxError> {
        let mut conn = OutboxConnection::from_pool(pool).await?;
        // At once: in batches, an event that has left again in between would be found again.
        let rows = DB::revive(conn.get(), &self.table, state, selection).await?;
        conn.finish();
        self.wake();
        Ok(rows)
    }

    async fn purge<DB: OutboxDatabase>(
        &self,
        pool: &Pool<DB>,
        state: i16,
        retention: Duration,
    ) -> Result<u64, OutboxError> {
        let mut conn = OutboxConnection::from_pool(pool).await?;
        let mut total = 0;
        loop {
            let rows = DB::purge(conn.get(), &self.table, state, retention, BATCH).await?;
            conn.finish();
            total += rows;
            if rows < u64::from(BATCH) {
                return Ok(total);
            }
        }
    }
}
