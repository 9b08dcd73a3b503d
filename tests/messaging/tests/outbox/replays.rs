//! Events of handlers that are called again.

use idem_messaging::outbox::{Event, Origin, Outbox, OutboxDatabase, OutboxError};
use idem_runtime::schema;
use sqlx::Transaction;

use crate::subject::{ESCALATE, MySql, PENDING, Postgres, Sqlite, Subject, key};

/// What the handler of these laws fails with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error(transparent)]
    Record(#[from] idem_runtime::Error),
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    #[error("the law wants it")]
    Wanted,
}

/// The body of a handler, as far as the outbox goes.
pub(crate) async fn escalate<DB: OutboxDatabase>(
    outbox: &Outbox,
    tx: &mut Transaction<'_, DB>,
    fails: bool,
) -> Result<String, Failed> {
    let origin = Origin::of(ESCALATE, &key("call")).map_err(OutboxError::from)?;
    let event = Event::builder(&origin, "escalated")
        .topic("cases")
        .event_type("com.example.case.escalated.v1")
        .build()
        .map_err(OutboxError::from)?;
    let id = outbox.append(tx, event).await?;
    if fails {
        Err(Failed::Wanted)
    } else {
        Ok(id.to_string())
    }
}

/// A database on which the handler can be called.
pub(crate) trait Calls: Subject {
    async fn call(&self, outbox: &Outbox, fails: bool) -> Result<String, Failed>;
}

macro_rules! calls {
    ($($subject:ident),+ $(,)?) => {
        $(impl Calls for $subject {
            async fn call(&self, outbox: &Outbox, fails: bool) -> Result<String, Failed> {
                let mut conn = self.pool().acquire().await.expect("a connection");
                schema::create_if_missing(&mut conn).await.expect("the table of records");
                drop(conn);
                let body = async |tx: &mut Transaction<'_, <Self as Subject>::Db>| escalate(outbox, tx, fails).await;
                let answer = ESCALATE.run(self.pool(), &key("call"), &"a request", body).await?;
                Ok((*answer).clone())
            }
        })+
    };
}

calls! { MySql, Postgres, Sqlite }

pub(crate) async fn a_replay_appends_nothing<S: Calls>() {
    let (subject, outbox) = (S::fresh().await, Outbox::new());
    let first = subject.call(&outbox, false).await.expect("escalated");
    let again = subject.call(&outbox, false).await.expect("replayed");
    assert_eq!((first, subject.in_state(PENDING).await), (again, 1));
}

pub(crate) async fn a_call_that_failed_leaves_no_event_and_its_repetition_appends_the_same_id<
    S: Calls,
>() {
    let (subject, outbox) = (S::fresh().await, Outbox::new());
    let failed = subject.call(&outbox, true).await;
    assert!(matches!(failed, Err(Failed::Wanted)), "{failed:?}");
    assert_eq!(subject.in_state(PENDING).await, 0);
    let id = subject.call(&outbox, false).await.expect("escalated");
    let origin = Origin::of(ESCALATE, &key("call")).expect("an origin");
    let same = origin.event_id("escalated").expect("an id");
    assert_eq!((id, subject.in_state(PENDING).await), (same.to_string(), 1));
}
