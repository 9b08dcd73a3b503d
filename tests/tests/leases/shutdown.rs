//! Runs outlive their callers, and end with their runtime.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use idem_runtime::lease::drain;
use idem_runtime::policy::OnLapse;
use idem_runtime::record::Status;

use crate::abandoned::abandon;
use crate::database::{LeaseDatabase, Sqlite};
use crate::desk::{Desk, Then, ada, fresh_key, send_again, send_once};
use crate::takeover::{to_ada, worker};

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_waits_for_runs_that_nobody_waits_for() {
    let (database, key) = (Sqlite::open().await, fresh_key());
    let desk = Desk::new(&[Then::Wait]);
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let caller = tokio::spawn(async move { send_once(&pool, by, ada(), there).await });
    desk.reached().await;
    caller.abort();
    let mut draining = pin!(drain());
    let waits = poll_fn(|context| Poll::Ready(draining.as_mut().poll(context).is_pending())).await;
    assert!(waits);
    desk.open();
    draining.await;
    assert_eq!(database.status(&key).await, Some(Status::Completed));
}

#[test]
fn a_runtime_that_shuts_down_cuts_its_runs_off_and_their_leases_lapse() {
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    let (first, second) = (runtime(), runtime());
    let (key, desk) = (fresh_key(), Desk::new(&[Then::Wait]));
    let database = first.block_on(Sqlite::open());
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    first.spawn(async move { send_again(&pool, &by, ada(), there).await });
    first.block_on(desk.reached());
    first.shutdown_background();
    second.block_on(async {
        let database = Sqlite::of(database.database);
        assert_eq!(database.status(&key).await, Some(Status::InProgress));
        database.lapse().await;
        let sent = send_again(&database.pool(), &key, ada(), desk.clone()).await;
        assert_eq!(sent.expect("taken over").number, 2);
        assert_eq!(desk.count(), 2);
    });
}

#[test]
fn a_worker_that_dies_at_work_is_followed_by_another() {
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    let (first, second) = (runtime(), runtime());
    let (key, desk) = (fresh_key(), Desk::new(&[Then::Wait]));
    let database = first.block_on(Sqlite::open());
    first.block_on(abandon(&database, &key, "send", &to_ada(), OnLapse::Retry));
    first.block_on(database.lapse());
    let dies = worker(&database, &desk, 9);
    first.spawn(async move { dies.run_once().await });
    first.block_on(desk.reached());
    first.shutdown_background();
    second.block_on(async {
        let database = Sqlite::of(database.database);
        let follows = worker(&database, &desk, 9);
        let swept = follows.run_once().await.expect("it answers");
        assert_eq!(swept.found, 0, "the lease of the first is live");
        database.lapse().await;
        let swept = follows.run_once().await.expect("it answers");
        assert_eq!((swept.found, swept.completed), (1, 1));
        let record = database.record(&key).await.expect("there is one");
        assert_eq!((record.status, record.attempt), (Status::Completed, 3));
        assert_eq!(desk.count(), 2);
    });
}
