//! A consumer under test.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use idem_messaging::inbox::{
    Answer, AsAnswer, Backoff, Consumer, Handler, Message, MessageError, MessageKey, Policy,
    Received,
};
use idem_runtime::handler::DescribeOperation as _;
use idem_runtime::{IdempotencyKey, idempotent, schema};
use idem_tests::patience::in_time;
use idem_tests::sqlite::{Journal, Sqlite};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqlitePool, SqliteTransaction};
use tokio::sync::{Semaphore, watch};

/// What a message of the tests says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fact {
    /// Identifies the fact, and so the message.
    pub id: String,
}

impl Fact {
    /// Returns the payload.
    pub fn json(id: &str) -> String {
        format!(r#"{{"id":"{id}"}}"#)
    }
}

/// Why the handler failed.
#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    /// The message cannot be read.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The statement failed.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// The library refused.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

impl AsAnswer for NoteError {
    fn as_answer(&self) -> Answer {
        match self {
            Self::Message(error) => error.as_answer(),
            Self::Database(error) => error.as_answer(),
            Self::Idempotency(error) => error.as_answer(),
        }
    }
}

#[idempotent(namespace = "receiver", retention = "7d", marker = Note)]
async fn note(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    fact: &Received<Fact>,
) -> Result<(), NoteError> {
    let insert = sqlx::query("INSERT INTO effect (fact) VALUES (?1)").bind(&fact.id);
    insert.execute(&mut **tx).await?;
    Ok(())
}

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

/// A consumer, and the database in which its effects are.
#[derive(Debug)]
pub struct Receiver {
    _sqlite: Sqlite,
    pool: SqlitePool,
    calls: watch::Sender<u32>,
    committed: watch::Sender<u32>,
    gate: Semaphore,
}

impl Receiver {
    /// Creates the database.
    ///
    /// # Panics
    /// The database cannot be written.
    pub async fn fresh() -> Arc<Self> {
        let sqlite = Sqlite::fresh(Journal::Wal);
        let pool = sqlite.pool(4);
        let mut connection = pool.acquire().await.expect("a connection");
        schema::create_if_missing(&mut connection)
            .await
            .expect("the table of records");
        sqlx::query("CREATE TABLE effect (fact TEXT NOT NULL)")
            .execute(&mut *connection)
            .await
            .expect("the table of effects");
        drop(connection);
        Arc::new(Self {
            _sqlite: sqlite,
            pool,
            calls: watch::Sender::new(0),
            committed: watch::Sender::new(0),
            gate: Semaphore::new(0),
        })
    }

    /// Returns a consumer whose call number `n`, from 0, does `act(n)`. Its waits are short, and it has three attempts.
    ///
    /// # Panics
    /// Never: the policy is one that every consumer may have.
    pub fn consumer<A>(self: &Arc<Self>, act: A) -> Consumer<impl Handler + use<A>>
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
        Consumer::new(Note::OPERATION, MessageKey::payload("/id"), handler)
            .and_then(|consumer| consumer.with_policy(policy))
            .expect("a consumer")
    }

    async fn call(
        &self,
        key: IdempotencyKey,
        message: &Message,
        act: &(impl Fn(u32) -> Act + Sync),
    ) -> Result<Answer, NoteError> {
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
        let noted = note(&self.pool, &key, &fact).await?;
        self.committed.send_modify(|committed| *committed += 1);
        if matches!(act, Act::RunAndHang) {
            std::future::pending::<()>().await;
        }
        Ok(if noted.replayed() {
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
        sqlx::query_scalar("SELECT count(*) FROM effect WHERE fact = ?1")
            .bind(fact)
            .fetch_one(&self.pool)
            .await
            .expect("a number")
    }
}

async fn reached(what: &str, counter: &watch::Sender<u32>, times: u32) {
    let mut counter = counter.subscribe();
    let reached = in_time(what, counter.wait_for(|number| *number >= times)).await;
    reached.expect("it lives as long as its receiver");
}
