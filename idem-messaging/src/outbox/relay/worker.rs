//! The relay's loop: settle what is finished, claim while there is room, wait.

use std::collections::HashSet;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::Error;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};
use uuid::Uuid;

use super::backoff::RelayBackoff;
use super::put_off::PutOff;
use super::run::{Finished, Run, Shared, by_partition};
use super::{Relay, Swept, TARGET};
#[cfg(feature = "metrics")]
use crate::metrics::{OUTBOX_ATTEMPTS, increment};
use crate::outbox::connection::OutboxConnection;
use crate::outbox::error::OutboxError;
use crate::outbox::publisher::Publisher;
use crate::outbox::schema;
use crate::outbox::store::{ClaimRequest, OutboxDatabase, PUBLISHED, Settled, Settlement};
use crate::outbox::wake::Ears;

/// The time to the first poll after a hint.
const HOT: Duration = Duration::from_millis(1);

/// A transaction of the relay that takes longer is given up, with its connection.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the relay waits after an error of the database, or while the broker is unavailable.
const TROUBLE: RelayBackoff =
    RelayBackoff::new(Duration::from_millis(200), Duration::from_secs(10));

/// How often a relay that was asked to stop tries to write what became of its events, and a sweep repeats what the
/// database has undone.
const LAST_TRIES: u32 = 3;

/// The time between two purges, and the most rows of one.
const PURGE_INTERVAL: Duration = Duration::from_secs(10);
const PURGE_BATCH: u32 = 1_000;

pub(super) struct RelayWorker<'a, DB: OutboxDatabase, P> {
    relay: &'a Relay<DB, P>,
    connection: Option<OutboxConnection<DB>>,
    horizon: DB::Horizon,
    is_verified: bool,
    runs: JoinSet<()>,
    permits: Arc<Semaphore>,
    stop: watch::Sender<bool>,
    sender: mpsc::UnboundedSender<Finished>,
    receiver: mpsc::UnboundedReceiver<Finished>,
    /// What has finished and is not written yet.
    unsettled: Vec<Settlement>,
    /// Events that were claimed and are not settled.
    in_flight: usize,
    next_claim: Instant,
    put_off: PutOff,
    /// The time to the next poll, if nothing is found before.
    poll: Duration,
    /// Whether an append of this process gave a hint, whose COMMIT comes later.
    is_hinted: bool,
    ears: Arc<Ears>,
    next_purge: Instant,
    /// In how many claims in a row the broker was unavailable, and the last of them.
    broker_trouble: u32,
    troubled_claim: Uuid,
    /// How often in a row the database did not do what it was asked.
    database_trouble: u32,
    swept: Swept,
}

impl<'a, DB: OutboxDatabase, P: Publisher> RelayWorker<'a, DB, P> {
    pub(super) fn new(relay: &'a Relay<DB, P>) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            relay,
            connection: None,
            horizon: DB::Horizon::default(),
            is_verified: false,
            runs: JoinSet::new(),
            permits: Arc::new(Semaphore::new(relay.options.concurrency)),
            stop: watch::Sender::new(false),
            sender,
            receiver,
            unsettled: Vec::new(),
            in_flight: 0,
            next_claim: Instant::now(),
            put_off: PutOff::default(),
            poll: HOT,
            is_hinted: false,
            ears: Arc::default(),
            next_purge: Instant::now(),
            broker_trouble: 0,
            troubled_claim: Uuid::nil(),
            database_trouble: 0,
            swept: Swept::default(),
        }
    }

    pub(super) async fn run(mut self, cancel: impl Future) -> Swept {
        let mut cancel = pin!(async { drop(cancel.await) });
        let (relay, ears) = (self.relay, Arc::clone(&self.ears));
        let mut listening = Box::pin(async {
            if relay.options.listens {
                let keepalive = relay.options.listen_keepalive;
                DB::listen(&relay.pool, &relay.outbox.table, &ears, keepalive).await
            } else {
                pending().await
            }
        });
        loop {
            if let Err(error) = self.turn().await {
                self.trouble(&error);
            }
            let is_stopping = *self.stop.borrow();
            if is_stopping && (self.in_flight == 0 || self.database_trouble >= LAST_TRIES) {
                return self.swept;
            }
            let next_turn = self.next_turn();
            tokio::select! {
                () = &mut cancel, if !is_stopping => {
                    self.stop.send_replace(true);
                }
                Some(finished) = self.receiver.recv() => self.finished(finished),
                () = self.relay.outbox.wake.woken(), if !is_stopping => self.hint(),
                () = ears.heard(), if !is_stopping => self.heard(),
                never = &mut listening, if !is_stopping => match never {},
                () = sleep_until(next_turn.into()) => {}
            }
        }
    }

    pub(super) async fn sweep(mut self) -> Result<Swept, OutboxError> {
        loop {
            let due_before = self.next_claim <= Instant::now();
            match self.turn().await {
                Err(error) if error.is_undone() && self.database_trouble < LAST_TRIES => {
                    self.trouble(&error);
                }
                turned => turned?,
            }
            // The last claim found nothing, and nothing that is under way can make something due.
            if due_before && self.poll > HOT && self.in_flight == 0
                || self.broker_trouble > 0 && self.in_flight == 0
            {
                return Ok(self.swept);
            }
            let next_turn = self.next_turn();
            tokio::select! {
                Some(finished) = self.receiver.recv() => self.finished(finished),
                () = sleep_until(next_turn.into()) => {}
            }
        }
    }

    /// When there is something to do although nothing happens.
    fn next_turn(&self) -> Instant {
        if self.unsettled.is_empty() && !self.has_room() {
            // A publication ends before, or the lease has ended anyway.
            return Instant::now() + self.relay.options.lease;
        }
        self.next_claim
    }

    /// Whether a claim would not be a small one: those cost as much as the others.
    fn has_room(&self) -> bool {
        let batch = self.relay.options.batch as usize;
        batch.saturating_sub(self.in_flight) >= batch.div_ceil(4)
    }

    async fn turn(&mut self) -> Result<(), OutboxError> {
        while let Ok(finished) = self.receiver.try_recv() {
            self.finished(finished);
        }
        while self.runs.try_join_next().is_some() {}
        let now = Instant::now();
        let claims = self.next_claim <= now && self.has_room() && !*self.stop.borrow();
        let settles = !self.unsettled.is_empty();
        let in_trouble = self.database_trouble > 0 && self.next_claim > now && !*self.stop.borrow();
        if in_trouble || !(claims || settles) {
            return Ok(());
        }
        self.connect().await?;
        if settles {
            self.settle().await?;
        }
        if claims {
            self.claim().await?;
            self.purge().await?;
        }
        self.database_trouble = 0;
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        connection.finish();
        if !connection.is_own() {
            self.connection = None;
        }
        Ok(())
    }

    async fn connect(&mut self) -> Result<(), OutboxError> {
        if self.connection.is_none() {
            let opening = OutboxConnection::for_relay(&self.relay.pool);
            self.connection = Some(within(opening).await?);
            self.horizon = DB::Horizon::default();
        }
        if !self.is_verified
            && let Some(connection) = &mut self.connection
        {
            schema::verify_table(connection.get(), &self.relay.outbox.table).await?;
            self.is_verified = true;
        }
        Ok(())
    }

    async fn claim(&mut self) -> Result<(), OutboxError> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        let options = &self.relay.options;
        let room = options.batch
            - u32::try_from(self.in_flight)
                .unwrap_or(options.batch)
                .min(options.batch);
        let request = ClaimRequest {
            limit: room,
            lease: options.lease,
            token: Uuid::new_v4(),
        };
        // Before the statement is sent: the lease that the database counts ends later.
        let sent = Instant::now();
        let lease_end = sent + options.lease;
        let claimed = within(DB::claim(
            connection.get(),
            &self.relay.outbox.table,
            request,
            &mut self.horizon,
        ))
        .await?;
        if claimed.events.is_empty() && claimed.put_aside == 0 {
            // What is committed meanwhile is heard of, unless its append was here: that hint comes too early.
            let is_quiet = self.ears.is_listening() && !self.is_hinted;
            let poll = if is_quiet {
                Duration::MAX
            } else {
                self.poll * 2
            };
            self.poll = poll.min(options.idle_interval);
            self.is_hinted &= self.poll < options.idle_interval;
            let next_poll = Instant::now() + self.poll;
            let next_due = self.put_off.after(sent);
            self.next_claim = next_due.map_or(next_poll, |due| due.min(next_poll));
            return Ok(());
        }
        self.poll = HOT;
        self.next_claim = Instant::now();
        self.in_flight += claimed.events.len();
        let shared = Arc::new(Shared {
            publisher: Arc::clone(&self.relay.publisher),
            options: options.clone(),
            token: request.token,
            lease_end,
            pause: TROUBLE.after(self.broker_trouble + 1),
            permits: Arc::clone(&self.permits),
            stop: self.stop.subscribe(),
            finished: self.sender.clone(),
        });
        for events in by_partition(claimed.events) {
            self.runs
                .spawn(Run::new(Arc::clone(&shared), events).publish());
        }
        Ok(())
    }

    async fn settle(&mut self) -> Result<(), OutboxError> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        let keep = self.relay.options.keep_for.is_some();
        let table = &self.relay.outbox.table;
        let (conn, settlements) = (connection.get(), &self.unsettled);
        let settling = DB::settle(conn, table, settlements, keep, &self.horizon);
        let written = within(settling).await?;
        let written: HashSet<_> = written.into_iter().collect();
        for settlement in self.unsettled.drain(..) {
            self.in_flight -= 1;
            if written.contains(&(settlement.seq, settlement.token)) {
                count(&mut self.swept, &settlement.outcome);
            } else {
                self.swept.fenced += 1;
                #[cfg(feature = "metrics")]
                increment(OUTBOX_ATTEMPTS, &[("outcome", "fenced")]);
                tracing::warn!(target: TARGET, seq = settlement.seq, "an event's claim was taken over before it was settled");
            }
            // What was put off, given back, or stood before others, is looked at again in time.
            let wait = match &settlement.outcome {
                Settled::Retry { after, .. } => *after,
                _ if self.broker_trouble > 0 => continue,
                Settled::Published | Settled::Dead { .. } if settlement.partition.is_none() => {
                    continue;
                }
                _ => Duration::ZERO,
            };
            let due = Instant::now() + wait;
            self.put_off.add(due);
            self.next_claim = self.next_claim.min(due);
        }
        Ok(())
    }

    async fn purge(&mut self) -> Result<(), OutboxError> {
        let (Some(retention), Some(connection)) =
            (self.relay.options.keep_for, &mut self.connection)
        else {
            return Ok(());
        };
        if self.next_purge > Instant::now() {
            return Ok(());
        }
        let table = &self.relay.outbox.table;
        let rows = within(DB::purge(
            connection.get(),
            table,
            PUBLISHED,
            retention,
            PURGE_BATCH,
        ))
        .await?;
        if rows < u64::from(PURGE_BATCH) {
            self.next_purge = Instant::now() + PURGE_INTERVAL;
        }
        Ok(())
    }

    fn finished(&mut self, finished: Finished) {
        match (&finished.settlement.outcome, finished.unavailable) {
            (_, Some(pause)) => {
                if self.troubled_claim == finished.settlement.token {
                    // Everything else that was on its way.
                    self.unsettled.push(finished.settlement);
                    return;
                }
                self.troubled_claim = finished.settlement.token;
                self.broker_trouble += 1;
                self.next_claim = Instant::now() + pause;
            }
            (Settled::Published, None) => self.broker_trouble = 0,
            _ => {}
        }
        self.unsettled.push(finished.settlement);
    }

    fn hint(&mut self) {
        if self.broker_trouble == 0 && self.database_trouble == 0 {
            self.poll = HOT;
            self.is_hinted = true;
            self.next_claim = self.next_claim.min(Instant::now() + HOT);
        }
    }

    fn heard(&mut self) {
        if self.broker_trouble == 0 && self.database_trouble == 0 {
            self.next_claim = Instant::now();
        }
    }

    /// Gives the connection up, and waits before the next transaction.
    fn trouble(&mut self, error: &OutboxError) {
        self.connection = None;
        self.database_trouble += 1;
        self.next_claim = Instant::now() + TROUBLE.after(self.database_trouble);
        tracing::warn!(target: TARGET, error = %error, table = %self.relay.outbox.table, "the relay's transaction failed, and is tried again");
    }
}

/// An answer in time, or an error as if the link were cut.
async fn within<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, OutboxError> {
    let answer = timeout(TRANSACTION_TIMEOUT, work).await;
    Ok(answer.unwrap_or(Err(Error::PoolTimedOut))?)
}

fn count(swept: &mut Swept, outcome: &Settled) {
    let (counted, name) = match outcome {
        Settled::Published => (&mut swept.published, "published"),
        Settled::Retry { .. } => (&mut swept.retried, "retried"),
        Settled::Dead { .. } => (&mut swept.dead, "dead"),
        Settled::Released { .. } => (&mut swept.released, "released"),
    };
    *counted += 1;
    #[cfg(feature = "metrics")]
    increment(OUTBOX_ATTEMPTS, &[("outcome", name)]);
    #[cfg(not(feature = "metrics"))]
    let _ = name;
}
