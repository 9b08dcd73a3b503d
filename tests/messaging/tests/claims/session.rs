//! What a session may have set, and what an operator's may.

use std::time::Duration;

use idem_messaging::outbox::{Outbox, Relay};
use idem_runtime::operate::{Author, schema};
use idem_tests::patience::in_time;
use sqlx::postgres::PgPoolOptions;

use crate::subject::{Broker, Postgres, Subject, event};

#[tokio::test]
async fn a_session_that_shows_bytes_otherwise_publishes_them_as_they_are() {
    let (subject, broker) = (Postgres::fresh().await, Broker::new());
    subject.append(&Outbox::new(), event("a")).await;
    let options = subject.database.options().clone();
    let pool =
        PgPoolOptions::new().connect_lazy_with(options.options([("bytea_output", "escape")]));
    let relay = Relay::new(pool, &Outbox::new(), broker.clone());
    assert_eq!(relay.sweep().await.expect("swept").published, 1);
    let (kept, appended) = (broker.kept(), event("a"));
    assert_eq!(kept[0].payload(), appended.payload());
}

/// A claim of a relay holds an event of the topic, and commits while the operator's first statement waits for it.
#[tokio::test]
async fn an_operator_who_resumes_a_topic_leaves_nothing_held_whatever_the_isolation() {
    let subject = Postgres::fresh().await;
    let audit = sqlx::raw_sql(schema::postgres()).execute(subject.pool());
    audit.await.expect("the table");
    let outbox = Outbox::new();
    subject.append(&outbox, event("a")).await;
    outbox.pause(subject.pool(), "cases").await.expect("paused");
    let mut claim = subject.pool().begin().await.expect("a transaction");
    for sql in [
        "SELECT topic FROM idem_outbox_paused FOR SHARE",
        "UPDATE idem_outbox SET state = 4, queued_xid = DEFAULT",
    ] {
        let done = sqlx::query(sql).execute(&mut *claim).await;
        assert_eq!(done.expect("held").rows_affected(), 1);
    }
    let options = subject.database.options().clone();
    let isolation = [("default_transaction_isolation", "repeatable read")];
    let pool = PgPoolOptions::new().connect_lazy_with(options.options(isolation));
    let author = Author::new("ada", "the broker is back").expect("an author");
    let operator = Outbox::new();
    let resuming = operator.resume_audited(&pool, "cases", &author);
    let committing = async {
        let mut observer = subject.database.observer().await;
        observer.until_blocked(1).await;
        claim.commit().await.expect("committed");
    };
    let both = Box::pin(async { tokio::join!(resuming, committing) });
    let (resumed, ()) = in_time("it is resumed", both).await;
    assert_eq!(resumed.expect("resumed"), Some(1));
    assert_eq!(subject.in_state(4).await, 0);
    let relay = subject
        .relay(&outbox, &Broker::new())
        .lease(Duration::from_hours(1));
    assert_eq!(relay.sweep().await.expect("swept").published, 1);
}
