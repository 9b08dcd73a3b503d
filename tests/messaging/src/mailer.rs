//! A consumer whose effect no database can undo, and whose outcome can be unknown.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use idem_messaging::inbox::{
    AsAnswer as _, Backoff, Consumer, Handler, IntoAnswer as _, Message, MessageKey, Policy,
    Received,
};
use idem_runtime::handler::DescribeOperation as _;
use idem_runtime::store::Store;
use idem_runtime::{Attempt, IdempotencyKey, Namespace, StoredFailure, idempotent, schema};
use idem_tests::patience::in_time;
use idem_tests::sqlite::{Journal, Sqlite};
use sqlx::SqlitePool;
use tokio::sync::watch;

use crate::fact::{Fact, NoteError};

/// What becomes of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mail {
    /// It is sent, and that is known.
    Sent,
    /// It is sent, and the answer is lost.
    SentUnknown,
    /// It is not sent, and nobody knows.
    LostUnknown,
    /// It is not sent, which is known.
    Failed,
}

/// What the operator finds out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It was sent.
    Completed,
    /// It was refused for good.
    Failed,
    /// It was never sent.
    NeverHappened,
}

/// The post office: what it does with each mail, and what it has sent.
#[derive(Clone)]
struct Post {
    plan: Arc<dyn Fn(u32) -> Mail + Send + Sync>,
    runs: watch::Sender<u32>,
    sent: watch::Sender<Vec<String>>,
}

#[idempotent(
    namespace = "mailer",
    lease = "5m",
    on_lapse = "unknown",
    retention = "7d",
    skip(post),
    marker = SendMail
)]
async fn send_mail(
    attempt: &Attempt,
    key: &IdempotencyKey,
    post: Post,
    fact: Received<Fact>,
) -> Result<String, NoteError> {
    let mut run = 0;
    post.runs.send_modify(|runs| {
        run = *runs;
        *runs += 1;
    });
    let mail = (post.plan)(run);
    if matches!(mail, Mail::Sent | Mail::SentUnknown) {
        post.sent.send_modify(|sent| sent.push(fact.id.clone()));
    }
    if matches!(mail, Mail::SentUnknown | Mail::LostUnknown) {
        attempt.outcome_unknown();
    }
    match mail {
        Mail::Sent => Ok("a receipt".to_owned()),
        _ => Err(NoteError::Database(sqlx::Error::RowNotFound)),
    }
}

/// A consumer that sends mails, and the operator who settles what is unknown.
pub struct Mailer {
    _sqlite: Sqlite,
    pool: SqlitePool,
    post: Post,
    calls: watch::Sender<u32>,
}

impl Mailer {
    /// Creates the database, and a post office that does `plan(n)` with mail number `n`, from 0.
    ///
    /// # Panics
    /// The database cannot be written.
    pub async fn fresh(plan: impl Fn(u32) -> Mail + Send + Sync + 'static) -> Arc<Self> {
        let sqlite = Sqlite::fresh(Journal::Wal);
        let pool = sqlite.pool(4);
        let mut connection = pool.acquire().await.expect("a connection");
        schema::create_if_missing(&mut connection)
            .await
            .expect("the table of records");
        drop(connection);
        let post = Post {
            plan: Arc::new(plan),
            runs: watch::Sender::new(0),
            sent: watch::Sender::default(),
        };
        let calls = watch::Sender::new(0);
        Arc::new(Self {
            _sqlite: sqlite,
            pool,
            post,
            calls,
        })
    }

    /// Returns the consumer, which has two attempts.
    ///
    /// # Panics
    /// Never: the policy is one that every consumer may have.
    pub fn consumer(self: &Arc<Self>, key: MessageKey) -> Consumer<impl Handler + use<>> {
        let mailer = Arc::clone(self);
        let handler = move |key: IdempotencyKey, message: Arc<Message>| {
            let mailer = Arc::clone(&mailer);
            async move {
                let answer = match Received::json(&message) {
                    Ok(fact) => {
                        let sent = send_mail(&mailer.pool, &key, mailer.post.clone(), fact).await;
                        sent.into_answer()
                    }
                    Err(refused) => refused.as_answer(),
                };
                mailer.calls.send_modify(|calls| *calls += 1);
                answer
            }
        };
        let short = Backoff::new(Duration::from_millis(2), Duration::from_millis(20));
        let policy = Policy::DEFAULT
            .with_attempts(NonZeroU32::new(2).expect("not zero"))
            .with_backoff(short)
            .with_pause(short);
        Consumer::new(SendMail::OPERATION, key, handler)
            .and_then(|consumer| consumer.with_policy(policy))
            .expect("a consumer")
    }

    /// Waits until the consumer was asked so often, for a first delivery or a later one.
    ///
    /// # Panics
    /// It was not within a minute.
    pub async fn called(&self, times: u32) {
        let mut calls = self.calls.subscribe();
        let reached = in_time(
            "calls of the mailer",
            calls.wait_for(|calls| *calls >= times),
        )
        .await;
        reached.expect("it lives as long as its mailer");
    }

    /// Waits until the body ran so often.
    ///
    /// # Panics
    /// It has not within a minute.
    pub async fn has_run(&self, times: u32) {
        let mut runs = self.post.runs.subscribe();
        let reached = in_time("runs of the body", runs.wait_for(|runs| *runs >= times)).await;
        reached.expect("it lives as long as its mailer");
    }

    /// Returns how often the consumer was asked.
    pub fn calls(&self) -> u32 {
        *self.calls.borrow()
    }

    /// Returns how often the body ran.
    pub fn runs(&self) -> u32 {
        *self.post.runs.borrow()
    }

    /// Returns how many mails were sent.
    pub fn sent(&self) -> usize {
        self.post.sent.borrow().len()
    }

    /// Settles the only unknown outcome.
    ///
    /// # Panics
    /// There is another number of them.
    pub async fn settle(&self, as_what: Settlement) {
        let store = Store::<(), String>::new(Namespace::from_static("mailer"));
        let mut connection = self.pool.acquire().await.expect("a connection");
        let mut records = store.in_connection(&mut *connection);
        let unknown = records.list_unknown(2, None).await.expect("a list");
        let [unknown] = unknown.as_slice() else {
            panic!("{} outcomes are unknown", unknown.len());
        };
        let failure = StoredFailure::new("refused", "no such address");
        let settled = match as_what {
            Settlement::Completed => {
                let receipt = "a receipt, found".to_owned();
                records.resolve_completed(unknown, &receipt).await
            }
            Settlement::Failed => records.resolve_failed(unknown, &failure).await,
            Settlement::NeverHappened => records.resolve_never_happened(unknown).await,
        };
        settled.expect("settled");
    }
}
