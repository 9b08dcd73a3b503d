//! The pages that a claim asks the database for.

use idem_messaging::outbox::Outbox;
use idem_tests::postgres::{Cluster, Database, Options};
use sqlx::{Connection as _, Executor as _};

use crate::subject::{Broker, Postgres, Subject as _};
use crate::table::{BATCH, BEHIND, DEAD, HEAD, Kind, READY, fill, pages_of_a_claim};

/// The trees of an outbox of so many events are as high as those of a million.
const MANY: i64 = 100_000;

async fn pages_beside(cluster: &Cluster, rows: &[(i64, Kind)]) -> i64 {
    let subject = Postgres::of(Database::fresh_on(cluster).await).await;
    fill(&subject, rows).await;
    pages_of_a_claim(&subject).await
}

/// At most 1.2 times as many as beside 1,000 pending events. On a server of its own, one after the other: a claim looks again at what
/// was appended since the oldest transaction of any database began.
async fn assert_few_beside(rows: &[(i64, Kind)]) {
    let cluster = Cluster::start(Options::new()).expect("a server");
    let few = pages_beside(&cluster, &[(1_000, READY)]).await;
    let many = pages_beside(&cluster, rows).await;
    println!("{few} pages beside 1,000 pending events, then {many}");
    assert!(many * 10 <= few * 12, "{few} pages, then {many}: {rows:?}");
}

#[tokio::test]
async fn pending_events_do_not_make_a_claim_dearer() {
    assert_few_beside(&[(MANY, READY)]).await;
}

#[tokio::test]
async fn dead_events_do_not_make_a_claim_dearer() {
    assert_few_beside(&[(MANY, DEAD), (1_000, READY)]).await;
}

#[tokio::test]
async fn events_that_wait_behind_another_do_not_make_a_claim_dearer() {
    assert_few_beside(&[(1, HEAD), (MANY, BEHIND), (1_000, READY)]).await;
}

#[tokio::test]
async fn a_claim_writes_no_index() {
    let subject = Postgres::fresh().await;
    fill(&subject, &[(1_000, READY)]).await;
    pages_of_a_claim(&subject).await;
    let updated = |column: &str| {
        format!("SELECT {column} FROM pg_stat_user_tables WHERE relname = 'idem_outbox'")
    };
    assert_eq!(subject.number(&updated("n_tup_upd")).await, BATCH);
    assert_eq!(subject.number(&updated("n_tup_hot_upd")).await, BATCH);
}

#[tokio::test]
async fn versions_that_an_open_transaction_may_see_are_stepped_over_once() {
    // On a server of its own: a claim begins to read where the oldest transaction of any database began.
    let cluster = Cluster::start(Options::new()).expect("a server");
    let subject = Postgres::of(Database::fresh_on(&cluster).await).await;
    let broker = Broker::new();
    let events = 80 * BATCH;
    let mut reader = subject.database.connect().await;
    let mut open = reader
        .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ")
        .await
        .expect("a transaction");
    open.execute("SELECT count(*) FROM idem_outbox")
        .await
        .expect("a snapshot");
    fill(&subject, &[(events, READY)]).await;
    let relay = subject.relay(&Outbox::new(), &broker);
    let swept = relay.sweep().await.expect("swept");
    assert_eq!(swept.published.cast_signed(), events);
    open.rollback().await.expect("rolled back");
    // Counts are reported once a second at the latest, and when a session ends.
    let mut observer = subject.database.observer().await;
    let reported = format!(
        "(SELECT n_tup_del FROM pg_stat_user_tables WHERE relname = 'idem_outbox') = {events}"
    );
    observer.until(&reported).await;
    let read =
        "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'idem_outbox_ready'";
    let read = subject.number(read).await;
    println!("{read} entries of the index for {events} events");
    // Each is looked at by the claims between its append and its end, and not by those that come later.
    assert!(read <= 25 * events, "{read} entries for {events} events");
}
