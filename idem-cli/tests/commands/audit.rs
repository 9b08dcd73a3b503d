//! Who, when, why and what; and whoever has not agreed.

use std::process::Stdio;

use idem_runtime::policy::OnLapse;
use idem_tests::patience::in_time;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::program::{idem, signed};
use crate::story::{ORDER, audited, completed, count, lease, unknown};
use crate::subject::{Sqlite, Subject};

pub(crate) async fn every_change_says_who_did_it_and_why<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    signed(
        &subject,
        &[&["resolve", "never-happened"], &ORDER[..]].concat(),
    )
    .await
    .done();
    let _owner = lease(&subject, "order-18", OnLapse::Retry).await;
    subject.lapse().await;
    let name = ["release", "payments", "order-18", "--scope", "customer-42"];
    signed(&subject, &name).await.done();
    completed(&subject, "a").await;
    signed(
        &subject,
        &["forget", "--scope", "customer-42", "--by", "bob"],
    )
    .await
    .done();
    let matching = async |condition: &str| {
        let sql = format!(
            "SELECT count(*) FROM idem_audit WHERE reason = 'ticket 17' AND on_table = 'idem_record' AND {condition}"
        );
        subject.number(&sql).await
    };
    let record = "namespace = 'payments' AND scope = 'customer-42' AND record_key = 'order-1";
    assert_eq!(
        matching(&format!(
            "actor = 'ada' AND action = 'resolve' AND {record}7'"
        ))
        .await,
        1
    );
    assert_eq!(
        matching(&format!(
            "actor = 'ada' AND action = 'release' AND {record}8'"
        ))
        .await,
        1
    );
    let forget =
        "actor = 'bob' AND action = 'forget' AND scope = 'customer-42' AND record_key IS NULL";
    assert_eq!(matching(forget).await, 1);
    let recent = format!("at > {} - {} AND at <= {}", S::NOW, S::HOUR, S::NOW);
    assert_eq!(matching(&recent).await, 3);
    if S::DATABASE != "sqlite" {
        assert_eq!(matching("account IS NOT NULL").await, 3);
    }
    assert_eq!(
        matching("detail LIKE '%\"from\":\"unknown\"%\"to\":\"released\"%'").await,
        1
    );
}

pub(crate) async fn without_an_audit_table_nothing_is_changed<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    let _lapsed = lease(&subject, "order-18", OnLapse::Retry).await;
    subject.lapse().await;
    completed(&subject, "a").await;
    subject.age(25).await;
    subject.run("DROP TABLE idem_audit").await;
    let other = ["payments", "order-18", "--scope", "customer-42"];
    let commands: [Vec<&str>; 3] = [
        [&["resolve", "never-happened"], &ORDER[..]].concat(),
        [&["release"], &other[..]].concat(),
        vec!["purge"],
    ];
    for command in commands {
        let refused = signed(&subject, &command).await.refused(3, "`idem_audit`");
        assert!(
            refused.err.contains("mend: idem schema print --only audit"),
            "{refused:?}"
        );
    }
    let counts = (
        count(&subject, 4).await,
        count(&subject, 3).await,
        count(&subject, 1).await,
    );
    assert_eq!(counts, (1, 1, 1));
}

pub(crate) async fn without_a_terminal_nothing_is_changed_unless_yes_is_said<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    completed(&subject, "a").await;
    subject.age(25).await;
    let commands: [Vec<&str>; 4] = [
        [&["resolve", "never-happened"], &ORDER[..]].concat(),
        [&["release"], &ORDER[..]].concat(),
        vec!["purge"],
        vec!["forget", "--scope", "customer-42"],
    ];
    for command in commands {
        let refused = idem(
            &subject,
            &[&command[..], &["--reason", "ticket 17"]].concat(),
        )
        .await;
        let refused = refused.refused(2, "There is no terminal to ask at; nothing was changed");
        assert!(refused.err.ends_with("mend: add --yes\n"), "{refused:?}");
        let silent = idem(&subject, &[&command[..], &["--yes"]].concat()).await;
        silent.refused(2, "--reason");
    }
    assert_eq!((count(&subject, 4).await, count(&subject, 1).await), (1, 1));
    assert_eq!(audited(&subject).await, 0);
}

/// Runs a command at a terminal, where somebody types this answer.
async fn at_a_terminal(subject: &Sqlite, command: &str, answer: &str) -> String {
    let line = format!("{} {command}", env!("CARGO_BIN_EXE_idem"));
    let mut program = Command::new("script");
    program
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env("DATABASE_URL", subject.url())
        .env("USER", "ada")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut program = program.spawn().expect("script of bsdutils runs");
    let mut stdin = program.stdin.take().expect("a pipe");
    stdin.write_all(answer.as_bytes()).await.expect("written");
    let output = in_time("the program", program.wait_with_output()).await;
    drop(stdin);
    String::from_utf8(output.expect("it ends").stdout).expect("text")
}

#[tokio::test]
async fn at_a_terminal_it_asks_and_only_yes_goes_on() {
    let subject = Sqlite::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    let command = format!("resolve never-happened {} --reason ticket", ORDER.join(" "));
    let refused = at_a_terminal(&subject, &command, "y\n").await;
    assert!(
        refused.contains("Record that it never happened"),
        "{refused}"
    );
    assert!(
        refused.contains("not confirmed; nothing was changed"),
        "{refused}"
    );
    assert_eq!((count(&subject, 4).await, audited(&subject).await), (1, 0));
    let done = at_a_terminal(&subject, &command, "yes\n").await;
    assert!(done.contains("resolved: it never happened"), "{done}");
    assert_eq!((count(&subject, 5).await, audited(&subject).await), (1, 1));
}
