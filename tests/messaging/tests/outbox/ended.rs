//! Events of bodies that end their transaction themselves.

use idem_messaging::outbox::{Outbox, OutboxError};
use idem_runtime::{Error, schema};
use sqlx::{Connection as _, Executor as _, Transaction};

use crate::replays::{Failed, escalate};
use crate::subject::{ESCALATE, MySql, Postgres, Sqlite, Subject, event, key};

/// What a body does before it appends.
type Raw = &'static [&'static str];

/// A database on which such a body can be called.
pub(crate) trait Ends: Subject {
    async fn call(&self, outbox: &Outbox, raw: Raw) -> Result<String, Failed>;
    /// Appends in a transaction that was not begun by the library.
    async fn append_after(&self, outbox: &Outbox, raw: Raw) -> Result<(), OutboxError>;
}

macro_rules! ends {
    ($($subject:ident),+ $(,)?) => {
        $(impl Ends for $subject {
            async fn call(&self, outbox: &Outbox, raw: Raw) -> Result<String, Failed> {
                type Tx<'c> = Transaction<'c, <$subject as Subject>::Db>;
                let mut conn = self.pool().acquire().await.expect("a connection");
                schema::create_if_missing(&mut conn).await.expect("the table of records");
                drop(conn);
                let body = async |tx: &mut Tx<'_>| {
                    for sql in raw {
                        tx.execute(sqlx::raw_sql(*sql)).await.expect("a raw statement");
                    }
                    escalate(outbox, tx, false).await
                };
                // On MySQL the claim of a body that has committed stays.
                let key = key(&format!("call after {raw:?}"));
                let answer = ESCALATE.run(self.pool(), &key, &"a request", body).await?;
                Ok((*answer).clone())
            }

            async fn append_after(&self, outbox: &Outbox, raw: Raw) -> Result<(), OutboxError> {
                let mut conn = self.pool().acquire().await.expect("a connection").detach();
                let mut tx = conn.begin().await.expect("a transaction");
                for sql in raw {
                    tx.execute(sqlx::raw_sql(*sql)).await.expect("a raw statement");
                }
                outbox.append(&mut tx, event("alone")).await?;
                drop(tx);
                conn.close().await.expect("closed");
                Ok(())
            }
        })+
    };
}

ends! { MySql, Postgres, Sqlite }

async fn events<S: Subject>(subject: &S) -> i64 {
    subject.number("SELECT count(*) FROM idem_outbox").await
}

pub(crate) async fn an_event_appended_after_a_bodys_own_commit_does_not_stand_alone<S: Ends>() {
    const BEFORE: [Raw; 4] = [
        &["COMMIT"],
        &["ROLLBACK"],
        &["COMMIT", "BEGIN"],
        &["ROLLBACK", "BEGIN"],
    ];
    let (subject, outbox) = (S::fresh().await, Outbox::new());
    for raw in BEFORE {
        let answer = subject.call(&outbox, raw).await;
        let refused = matches!(
            answer,
            Err(Failed::Outbox(OutboxError::NoTransaction)
                | Failed::Record(Error::TransactionEnded))
        );
        assert!(refused, "{raw:?}: {answer:?}");
        assert_eq!(events(&subject).await, 0, "{raw:?}");
    }
    subject.call(&outbox, &[]).await.expect("escalated");
    assert_eq!(events(&subject).await, 1);
}

pub(crate) async fn an_event_appended_after_a_raw_commit_of_a_plain_transaction_does_not_stand_alone<
    S: Ends,
>() {
    let (subject, outbox) = (S::fresh().await, Outbox::new());
    let answer = subject.append_after(&outbox, &["COMMIT"]).await;
    assert!(
        matches!(answer, Ok(()) | Err(OutboxError::NoTransaction)),
        "{answer:?}"
    );
    assert_eq!(events(&subject).await, 0);
}
