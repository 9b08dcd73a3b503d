//! Many concurrent callers of one key.

use std::collections::HashSet;
use std::process::Stdio;

use idem_runtime::{Error, IdempotencyKey};
use idem_tests::mysql::payments::{Pay, PayError, pay, pay_in_vain};
use idem_tests::mysql::{Shop, fresh_key};
use sqlx::MySqlPool;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinSet;

/// A process that pays, and the lines that it prints.
pub(crate) fn payer(arguments: &[&str]) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mysql-payer"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the binary was built");
    let output = child.stdout.take().expect("it is piped");
    (child, BufReader::new(output).lines())
}

pub(crate) async fn line(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    lines.next_line().await.expect("the pipe can be read")
}

#[tokio::test]
async fn two_hundred_calls_from_four_processes_have_one_effect_and_one_result() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let url = shop.database.url();
    let mut crowd: Vec<_> = (0..4)
        .map(|_| payer(&["rush", &url, key.as_str(), "50"]))
        .collect();
    for (_, lines) in &mut crowd {
        assert_eq!(line(lines).await.as_deref(), Some("ready"));
    }
    for (child, _) in &mut crowd {
        let input = child.stdin.as_mut().expect("it is piped");
        input.write_all(b"\n").await.expect("it listens");
    }
    let mut results = Vec::new();
    for (child, lines) in &mut crowd {
        while let Some(id) = line(lines).await {
            results.push(id);
        }
        let status = child.wait().await.expect("it ends");
        assert!(status.success(), "an error other than in flight: {status}");
    }
    assert_eq!(results.len(), 200);
    let distinct: HashSet<_> = results.into_iter().collect();
    assert_eq!(distinct.len(), 1, "{distinct:?}");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn different_keys_do_not_stand_in_each_others_way() {
    let shop = Shop::open(4).await;
    let calls = (0..20).map(|_| {
        let pool = shop.pool.clone();
        async move {
            let key = fresh_key();
            (pay(&pool, &key, &Pay { amount: 1 }).await, key)
        }
    });
    let mut all = JoinSet::new();
    calls.for_each(|call| {
        all.spawn(call);
    });
    for (paid, key) in all.join_all().await {
        assert!(!paid.expect("nobody else has this key").replayed());
        shop.assert_one_effect(&key).await;
    }
}

/// Fails on purpose the first `failures` times, and retries until the payment is made.
async fn insist(pool: MySqlPool, key: IdempotencyKey, failures: usize) -> i64 {
    for attempt in 0.. {
        let paid = if attempt < failures {
            pay_in_vain(&pool, &key, &Pay { amount: 1 }).await
        } else {
            pay(&pool, &key, &Pay { amount: 1 }).await
        };
        match paid {
            Ok(paid) => return paid.id,
            Err(PayError::BankDown | PayError::Idempotency(Error::InFlight { .. })) => {
                tokio::task::yield_now().await;
            }
            // In particular, no deadlock.
            Err(error) => panic!("{error:?}"),
        }
    }
    unreachable!("attempts do not end")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_competitors_with_wilful_rollbacks_have_one_effect_a_key_and_no_deadlock() {
    let shop = Shop::open(8).await;
    for _ in 0..25 {
        let key = fresh_key();
        let mut all = JoinSet::new();
        for competitor in 0..8 {
            all.spawn(insist(shop.pool.clone(), key.clone(), competitor % 3));
        }
        let distinct: HashSet<i64> = all.join_all().await.into_iter().collect();
        assert_eq!(distinct.len(), 1, "{distinct:?}");
        shop.assert_one_effect(&key).await;
    }
}

/// Under REPEATABLE READ, with replays between first calls: the locks of one key never block
/// another key, in the library's transactions and in a caller's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn different_keys_never_deadlock_and_are_never_in_flight_for_each_other() {
    let shop = Shop::open(8).await;
    let mut all = JoinSet::new();
    for _ in 0..8 {
        let pool = shop.pool.clone();
        all.spawn(async move {
            for round in 0..15 {
                let (one, two) = (fresh_key(), fresh_key());
                let cmd = Pay { amount: 1 };
                if round % 2 == 0 {
                    pay(&pool, &one, &cmd).await.expect("nobody else has it");
                    pay(&pool, &one, &cmd).await.expect("it is recorded");
                } else {
                    let mut tx = pool.begin().await.expect("a transaction");
                    pay(&mut tx, &one, &cmd).await.expect("nobody else has it");
                    pay(&mut tx, &two, &cmd).await.expect("nobody else has it");
                    pay(&mut tx, &one, &cmd).await.expect("it is recorded");
                    tx.commit().await.expect("nothing is wrong with it");
                    let mut tx = pool.begin().await.expect("a transaction");
                    pay(&mut tx, &two, &cmd).await.expect("it is recorded");
                    pay(&mut tx, &one, &cmd).await.expect("it is recorded");
                    tx.commit().await.expect("nothing is wrong with it");
                }
            }
        });
    }
    all.join_all().await;
}
