//! A consumer under test.

use std::any::Any;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_messaging::inbox::{
    Answer, Backoff, Consumer, Handler, Message, MessageKey, Policy, Received,
};
use idem_runtime::IdempotencyKey;
use idem_tests::patience::in_time;
use sqlx::Pool;
use tokio::sync::{Semaphore, watch};

use crate::fact::{Fact, NoteError};
use crate::ledger::Ledger;

/// What the handler does at one call.
#[derive(Clone, Debug)]
pub enum Act {
    /// Has its effect.
    Run,
    /// Answers without an effect.
    Say(Answer),
    /// Has its effect, and never returns: the process ends between COMMIT and acknowledgement.
    RunAndHang,
    /// Waits for [`Receiver::open`], and then has its effect.
    Wait,
}

/// What identifies a message of the tests.
pub fn message_key() -> MessageKey {
    MessageKey::payload("/id")
}

/// A consumer, and the database in which its effects are.
pub struct Receiver<D: Ledger> {
    pool: Pool<D>,
    /// What the database is there for as long as.
    _database: Box<dyn Any + Send + Sync>,
    calls: watch::Sender<u32>,
    committed: watch::Sender<u32>,
    at_once: AtOnce,
    gate: Semaphore,
}

/// The calls that are under way.
#[derive(Default)]
struct AtOnce {
    now: AtomicU32,
    most: AtomicU32,
}

/// A call that is under way for as long as this value lives.
struct UnderWay<'a>(&'a AtOnce);

impl AtOnce {
    fn begin(&self) -> UnderWay<'_> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        UnderWay(self)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

impl<D: Ledger> Receiver<D> {
    /// Creates a database of its own.
    ///
    /// # Panics
    /// The database cannot be written.
    pub async fn fresh() -> Arc<Self> {
        let (pool, database) = D::fresh().await;
        D::create(&pool).await;
        Self::new(pool, database)
    }

    /// Creates the tables in the database of a test.
    ///
    /// # Panics
    /// The database cannot be written.
    pub async fn on(pool: Pool<D>) -> Arc<Self> {
        D::create(&pool).await;
        Self::new(pool, Box::new(()))
    }

    /// Takes the tables as they are, as after a restart of the consumer's process.
    pub fn again_on(pool: Pool<D>) -> Arc<Self> {
        Self::new(pool, Box::new(()))
    }

    fn new(pool: Pool<D>, database: Box<dyn Any + Send + Sync>) -> Arc<Self> {
        Arc::new(Self {
            pool,
            _database: database,
            calls: watch::Sender::new(0),
            committed: watch::Sender::new(0),
            at_once: AtOnce::default(),
            gate: Semaphore::new(0),
        })
    }

    /// Returns a consumer whose call number `n`, from 0, does `act(n)`. Its waits are short, and it has three attempts.
    ///
    /// # Panics
    /// Never: the policy is one that every consumer may have.
    pub fn consumer<A>(self: &Arc<Self>, act: A) -> Consumer<impl Handler + use<A, D>>
    where
        A: Fn(u32) -> Act + Send + Sync + 'static,
    {
        let receiver = Arc::clone(self);
        let act = Arc::new(act);
        let handler = move |key: IdempotencyKey, message: Arc<Message>| {
            let (receiver, act) = (Arc::clone(&receiver), Arc::clone(&act));
            async move { receiver.call(key, &message, &*act).await }
        };
        let short = Backoff::new(Duration::from_millis(2), Duration::from_millis(20));
        let policy = Policy::DEFAULT
            .with_attempts(NonZeroU32::new(3).expect("not zero"))
            .with_backoff(short)
            .with_pause(short);
        Consumer::new(D::operation(), message_key(), handler)
            .and_then(|consumer| consumer.with_policy(policy))
            .expect("a consumer")
    }

    async fn call(
        &self,
        key: IdempotencyKey,
        message: &Message,
        act: &(impl Fn(u32) -> Act + Sync),
    ) -> Result<Answer, NoteError> {
        let _under_way = self.at_once.begin();
        let mut number = 0;
        self.calls.send_modify(|calls| {
            number = *calls;
            *calls += 1;
        });
        let act = act(number);
        match act {
            Act::Say(answer) => return Ok(answer),
            Act::Wait => self.gate.acquire().await.expect("never closed").forget(),
            Act::Run | Act::RunAndHang => {}
        }
        let fact = Received::<Fact>::json(message)?;
        let replayed = D::note(&self.pool, &key, &fact).await?;
        self.committed.send_modify(|committed| *committed += 1);
        if matches!(act, Act::RunAndHang) {
            std::future::pending::<()>().await;
        }
        Ok(if replayed {
            Answer::Replayed
        } else {
            Answer::Done
        })
    }

    /// Lets one call that waits go on.
    pub fn open(&self) {
        self.gate.add_permits(1);
    }

    /// Returns how often the handler was called.
    pub fn calls(&self) -> u32 {
        *self.calls.borrow()
    }

    /// Returns how many calls were under way at once at the most.
    pub fn most_at_once(&self) -> u32 {
        self.at_once.most.load(Ordering::SeqCst)
    }

    /// Waits until the handler was called so often.
    ///
    /// # Panics
    /// It was not within a minute.
    pub async fn called(&self, times: u32) {
        reached("calls of the handler", &self.calls, times).await;
    }

    /// Waits until so many calls have committed, or were answered from the record.
    ///
    /// # Panics
    /// They have not within a minute.
    pub async fn committed(&self, times: u32) {
        reached("commits of the handler", &self.committed, times).await;
    }

    /// Returns how often a fact had its effect.
    ///
    /// # Panics
    /// The database does not answer.
    pub async fn effects(&self, fact: &str) -> i64 {
        D::count(&self.pool, fact).await
    }
}

async fn reached(what: &str, counter: &watch::Sender<u32>, times: u32) {
    let mut counter = counter.subscribe();
    let reached = in_time(what, counter.wait_for(|number| *number >= times)).await;
    reached.expect("it lives as long as its receiver");
}
