//! Calls that wait for one leased key: one poller looks it up for all of them.

use idem_runtime::waiters::observed;
use idem_tests::waiting::{until_looked, until_waiting};
use tokio::task::JoinSet;

use crate::database::LeaseDatabase;
use crate::desk::{Desk, MailError, Then, ada, fresh_key, send_again, send_waiting};

const WAITERS: usize = 64;

pub(crate) async fn many_waiters_of_a_leased_run_share_one_poller_and_replay<H: LeaseDatabase>() {
    let (database, desk, key) = (H::open().await, Desk::new(&[Then::Wait]), fresh_key());
    let (pool, there, by) = (database.pool(), desk.clone(), key.clone());
    let first = tokio::spawn(async move { send_again(&pool, &by, ada(), there).await });
    desk.reached().await;
    let mut calls = JoinSet::new();
    let pool = database.pool();
    for _ in 0..WAITERS {
        let (pool, desk, key) = (pool.clone(), desk.clone(), key.clone());
        calls.spawn(async move { send_waiting(&pool, Some(&key), ada(), desk).await });
    }
    until_waiting(WAITERS).await;
    let before = observed().1;
    until_looked(5).await;
    // A poller each would have made that many looks by now.
    assert!(observed().1 - before < WAITERS as u64);
    assert_eq!((observed().0, desk.count()), (WAITERS, 1));
    desk.open();
    let first = first.await.expect("no panic").expect("sent");
    while let Some(call) = calls.join_next().await {
        let replayed = call.expect("no panic").expect("replayed");
        assert!(replayed.replayed());
        assert_eq!(*replayed, *first);
    }
    assert_eq!((observed().0, desk.count()), (0, 1));
}

pub(crate) async fn after_each_failure_of_a_leased_run_one_waiter_runs<H: LeaseDatabase>() {
    let script = [Then::Fail, Then::Fail, Then::Fail];
    let (database, desk, key) = (H::open().await, Desk::new(&script), fresh_key());
    let pool = database.pool();
    let mut calls = JoinSet::new();
    for _ in 0..24 {
        let (pool, desk, key) = (pool.clone(), desk.clone(), key.clone());
        calls.spawn(async move { send_waiting(&pool, Some(&key), ada(), desk).await });
    }
    let (mut failed, mut first) = (0, 0);
    while let Some(call) = calls.join_next().await {
        match call.expect("no panic") {
            Ok(sent) => first += usize::from(!sent.replayed()),
            Err(MailError::OutOfReach) => failed += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!((failed, first, desk.count()), (3, 1, 4));
}
