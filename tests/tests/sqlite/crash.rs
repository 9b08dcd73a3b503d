//! A client that dies.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::payments::{Books, JOURNALS, key, pay, pay_and};

#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_between_its_writes_and_commit_leaves_nothing() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        let key = key("one");
        let mut client = Command::new(env!("CARGO_BIN_EXE_sqlite-client"))
            .arg(books.db.path())
            .arg("hang")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the client starts");
        let stdout = client.stdout.take().expect("piped");
        let line = BufReader::new(stdout).lines().next_line().await;
        assert_eq!(line.expect("text").as_deref(), Some("written"));
        client.kill().await.expect("SIGKILL");
        assert_eq!(books.count(&key).await, (0, 0));
        let retried = pay(&books.pool, &key, 5).await.expect("paid");
        assert!(!retried.replayed());
        assert_eq!(books.count(&key).await, (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_the_body_leaves_nothing_and_a_pool_of_one_usable() {
    let books = Books::open(JOURNALS[0], 1).await;
    let (pool, key) = (books.pool.clone(), key("a"));
    let call = {
        let key = key.clone();
        // On a separate thread: a future that holds a closure over a transaction need not be
        // `Send`.
        tokio::task::spawn_blocking(move || {
            tokio::runtime::Handle::current()
                .block_on(async { pay_and(&pool, &key, 5, async |_| panic!("in the body")).await })
        })
    };
    assert!(call.await.expect_err("it has panicked").is_panic());
    assert_eq!(books.count(&key).await, (0, 0));
    assert!(!pay(&books.pool, &key, 5).await.expect("paid").replayed());
    assert_eq!(books.count(&key).await, (1, 1));
}
