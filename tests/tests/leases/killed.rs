//! A client process that dies while its mail is being sent.

use std::process::Stdio;

use idem_runtime::Error;
use idem_runtime::record::Status;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::database::{LeaseDatabase, Postgres, Sqlite};
use crate::desk::{Desk, ada, fresh_key, send_again, send_once};
use crate::takeover::worker;

/// Starts a client on this database, and kills it after its body has handed the mail in.
async fn killed_at_work(url: &str, policy: &str, key: &str) {
    let mut client = Command::new(env!("CARGO_BIN_EXE_mailer"))
        .args([url, policy, key])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the client starts");
    let stdout = client.stdout.take().expect("piped");
    let line = BufReader::new(stdout).lines().next_line().await;
    assert_eq!(line.expect("text").as_deref(), Some("handed in"));
    client.kill().await.expect("SIGKILL");
}

async fn a_killed_owner_is_followed_by_the_next_under_retry<H: LeaseDatabase>(
    database: H,
    url: &str,
) {
    let (key, desk) = (fresh_key(), Desk::new(&[]));
    killed_at_work(url, "retry", key.as_str()).await;
    let refused = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    let refusal = refused.expect_err("its lease is live").refusal();
    assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
    database.lapse().await;
    let sent = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    assert_eq!(sent.expect("taken over").number, 2);
}

async fn a_killed_owner_leaves_an_unknown_outcome<H: LeaseDatabase>(database: H, url: &str) {
    let (key, desk) = (fresh_key(), Desk::new(&[]));
    killed_at_work(url, "unknown", key.as_str()).await;
    database.lapse().await;
    let reported = send_once(&database.pool(), key.clone(), ada(), desk.clone()).await;
    let refusal = reported.expect_err("nobody knows").refusal();
    assert!(
        matches!(refusal, Error::OutcomeUnknown { attempt: 1, .. }),
        "{refusal:?}"
    );
    assert_eq!(desk.count(), 0);
    assert_eq!(database.status(&key).await, Some(Status::Unknown));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_while_it_holds_a_lease_is_followed_after_the_lapse() {
    let database = Postgres::open().await;
    let url = database.database.url();
    a_killed_owner_is_followed_by_the_next_under_retry(database, &url).await;
    let database = Sqlite::open().await;
    let url = database.database.url();
    a_killed_owner_is_followed_by_the_next_under_retry(database, &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_while_it_holds_a_lease_leaves_its_outcome_unknown() {
    let database = Postgres::open().await;
    let url = database.database.url();
    a_killed_owner_leaves_an_unknown_outcome(database, &url).await;
    let database = Sqlite::open().await;
    let url = database.database.url();
    a_killed_owner_leaves_an_unknown_outcome(database, &url).await;
}

async fn a_killed_owner_is_followed_by_the_worker<H: LeaseDatabase>(database: H, url: &str) {
    let (key, desk) = (fresh_key(), Desk::new(&[]));
    killed_at_work(url, "retry", key.as_str()).await;
    let worker = worker(&database, &desk, 9);
    let swept = worker.run_once().await.expect("it answers");
    assert_eq!(swept.found, 0, "its lease is live");
    database.lapse().await;
    let swept = worker.run_once().await.expect("it answers");
    assert_eq!((swept.found, swept.completed), (1, 1));
    let sent = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    let sent = sent.expect("it was sent");
    assert!(sent.replayed() && sent.number == 2 && desk.count() == 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_while_it_holds_a_lease_is_followed_by_a_worker() {
    let database = Postgres::open().await;
    let url = database.database.url();
    a_killed_owner_is_followed_by_the_worker(database, &url).await;
    let database = Sqlite::open().await;
    let url = database.database.url();
    a_killed_owner_is_followed_by_the_worker(database, &url).await;
}
