//! Concurrent duplicates in one process and in several.

use std::process::Stdio;
use std::time::Duration;

use idem_runtime::Error;
use idem_tests::patience::in_time;
use sqlx::Connection as _;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::payments::{Books, Gate, JOURNALS, PayError, key, pay, pay_and, refused};

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_is_refused_while_the_first_still_runs() {
    for journal in JOURNALS {
        let books = Books::open(journal, 2).await;
        let (key, gate) = (key("a"), Gate::default());
        // The first continues only after the second has its answer, so waiting for the writer would
        // never end.
        let (first, second) = tokio::join!(
            pay_and(&books.pool, &key, 5, async |_| {
                gate.pass().await;
                Ok(())
            }),
            async {
                gate.reached().await;
                let second = pay(&books.pool, &key, 5).await;
                gate.open();
                second
            }
        );
        let error = refused(second);
        assert!(matches!(error, Error::InFlight { .. }), "{error:?}");
        assert!(error.is_retryable() && error.retry_after().is_some());
        let again = pay(&books.pool, &key, 5).await.expect("a replay");
        assert!(again.replayed());
        assert_eq!(*again, *first.expect("the first has paid"));
        assert_eq!(books.count(&key).await, (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_request_is_in_flight_before_and_a_mismatch_after_the_first_has_ended() {
    let books = Books::open(JOURNALS[0], 2).await;
    let (key, gate) = (key("a"), Gate::default());
    let (first, second) = tokio::join!(
        pay_and(&books.pool, &key, 5, async |_| {
            gate.pass().await;
            Ok(())
        }),
        async {
            gate.reached().await;
            let second = pay(&books.pool, &key, 6).await;
            gate.open();
            second
        }
    );
    first.expect("the first has paid");
    assert!(matches!(refused(second), Error::InFlight { .. }));
    let error = refused(pay(&books.pool, &key, 6).await);
    assert!(matches!(error, Error::Mismatch(_)), "{error:?}");
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_duplicates_of_one_process_have_one_effect_and_one_result() {
    for journal in JOURNALS {
        let books = Books::open(journal, 4).await;
        let mut calls = JoinSet::new();
        for _ in 0..40 {
            let pool = books.pool.clone();
            calls.spawn(async move {
                let answered = async {
                    loop {
                        match pay(&pool, &key("a"), 5).await {
                            Err(PayError::Idempotency(error)) if error.is_retryable() => {
                                tokio::time::sleep(Duration::from_millis(2)).await;
                            }
                            answer => break answer.expect("an answer or a reason to come back"),
                        }
                    }
                };
                in_time("the key stays in flight", answered).await
            });
        }
        let answers = calls.join_all().await;
        let first = answers.iter().filter(|answer| !answer.replayed()).count();
        assert_eq!(first, 1);
        assert!(answers.iter().all(|answer| **answer == *answers[0]));
        assert_eq!(books.count(&key("a")).await, (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_calls_of_four_processes_have_one_effect_and_one_result() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        let clients: Vec<_> = (0..4)
            .map(|_| {
                Command::new(env!("CARGO_BIN_EXE_sqlite-client"))
                    .arg(books.db.path())
                    .args(["calls", "50"])
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .kill_on_drop(true)
                    .spawn()
                    .expect("the client starts")
            })
            .collect();
        let mut answers = Vec::new();
        for client in clients {
            let output = in_time("a client does not end", client.wait_with_output()).await;
            let output = output.expect("the client ends");
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            let text = String::from_utf8(output.stdout).expect("text");
            answers.extend(text.lines().map(str::to_owned));
        }
        assert_eq!(answers.len(), 200);
        assert!(answers.iter().all(|answer| *answer == answers[0]));
        assert_eq!(books.count(&key("one")).await, (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_does_not_wait_for_another_keys_writer() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        pay(&books.pool, &key("a"), 5).await.expect("paid");
        let mut other = books.db.connect().await;
        let mut writer = other
            .begin_with("BEGIN IMMEDIATE")
            .await
            .expect("the write lock");
        // The writer ends only after the replay has its answer.
        let again = pay(&books.pool, &key("a"), 5).await.expect("a replay");
        assert!(again.replayed());
        let changed = refused(pay(&books.pool, &key("a"), 6).await);
        assert!(matches!(changed, Error::Mismatch(_)), "{changed:?}");
        pay(&mut writer, &key("b"), 5).await.expect("paid");
        writer.commit().await.expect("committed");
    }
}
