//! Many concurrent callers of one key.

use std::collections::HashSet;
use std::process::Stdio;

use idem_tests::postgres::payments::{Pay, pay};
use idem_tests::postgres::{Shop, fresh_key};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// A process that pays, and the lines that it prints.
pub(crate) fn payer(arguments: &[&str]) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_payer"))
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
    let mut all = tokio::task::JoinSet::new();
    calls.for_each(|call| {
        all.spawn(call);
    });
    for (paid, key) in all.join_all().await {
        assert!(!paid.expect("nobody else has this key").replayed());
        shop.assert_one_effect(&key).await;
    }
}
