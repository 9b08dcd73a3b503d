//! What a relay reads while a transaction may see events that have left: counted in entries of an index whose rows are
//! looked at.

use std::time::Duration;

use idem_messaging::outbox::Outbox;
use idem_tests::patience::in_time;
use idem_tests::postgres::{Cluster, Database, Options};
use sqlx::{Connection as _, Executor as _};
use tokio::sync::oneshot;

use crate::subject::{Broker, Postgres, Subject as _};
use crate::table::{BATCH, READY, fill};

/// How often each partition has a new event.
const ROUNDS: i64 = 30;

/// The entries of the index of partitions whose rows were looked at, for so many events in the same partitions, all of
/// which a transaction may see. One relay publishes them, round by round.
async fn entries_of_partitions(events: i64) -> i64 {
    // On a server of its own: a transaction of any other test would keep rows, too.
    let cluster = Cluster::start(Options::new()).expect("a server");
    let subject = Postgres::of(Database::fresh_on(&cluster).await).await;
    let mut reader = subject.database.connect().await;
    let mut open = reader
        .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ")
        .await
        .expect("a transaction");
    open.execute("SELECT count(*) FROM idem_outbox")
        .await
        .expect("a snapshot");
    let (broker, outbox) = (Broker::new(), Outbox::new());
    let relay = subject
        .relay(&outbox, &broker)
        .idle_interval(Duration::from_millis(5));
    let (stop, stopped) = oneshot::channel::<()>();
    let rounds = async {
        let mut kept = 0;
        for _ in 0..ROUNDS {
            fill(&subject, &[(events, READY)]).await;
            kept += usize::try_from(events).expect("few");
            broker.until_kept(kept).await;
        }
        drop(stop);
    };
    let running = Box::pin(async { tokio::join!(relay.run(stopped), rounds) });
    in_time("all events leave", running).await;
    open.rollback().await.expect("rolled back");
    let mut observer = subject.database.observer().await;
    // Counts are reported when the relay's session ends.
    let reported = format!(
        "(SELECT n_tup_del FROM pg_stat_user_tables WHERE relname = 'idem_outbox') = {}",
        events * ROUNDS
    );
    observer.until(&reported).await;
    let read = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'idem_outbox_partition'";
    subject.number(read).await
}

/// The look-ups of a claim and of a settlement pass over the events of the partition that have left, in the index alone.
/// The rows of one claim may be looked at: the next one begins where it began.
#[tokio::test]
async fn the_events_of_a_partition_that_have_left_are_not_looked_at_again_and_again() {
    let read = Box::pin(entries_of_partitions(BATCH)).await;
    let events = BATCH * ROUNDS;
    println!("{read} entries of the index of partitions for {events} events");
    // With all that have left it would be a number for each round that has passed: 30 for an event, or more.
    assert!(read <= 8 * events, "{read} entries for {events} events");
}
