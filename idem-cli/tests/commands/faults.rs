//! Bad input: one sentence, the line that mends it, and nothing changed.

use idem_tests::postgres::Database;
use sqlx::Executor as _;

use crate::program::{idem, run, signed};
use crate::story::{ORDER, audited, completed, count, unknown};
use crate::subject::{MariaDb, Postgres, Subject};

pub(crate) async fn a_table_that_is_not_there_is_a_sentence<S: Subject>() {
    let subject = S::fresh().await;
    for command in [&["stats"][..], &["list"], &["purge", "--dry-run"]] {
        let refused = idem(&subject, &[command, &["--table", "other_record"]].concat()).await;
        let refused = refused.refused(3, "idem: the table `other_record` does not exist");
        assert!(
            refused.err.contains("mend: idem schema print"),
            "{refused:?}"
        );
    }
    let refused = idem(&subject, &["stats", "--table", "x; DROP"]).await;
    refused.refused(2, "table");
    let json = idem(&subject, &["stats", "--json", "--table", "other_record"]).await;
    let fault: serde_json::Value = serde_json::from_str(&json.err).expect("JSON");
    assert_eq!(fault["exit_code"], 3);
}

pub(crate) async fn a_table_of_another_version_is_a_sentence<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    subject.run("DROP VIEW idem_record_readable").await;
    subject
        .run("ALTER TABLE idem_record RENAME COLUMN on_lapse TO policy")
        .await;
    for command in [&["list"][..], &[&["show"], &ORDER[..]].concat()] {
        let refused = idem(&subject, command).await;
        refused.refused(
            3,
            "the table `idem_record` is not of this version: it lacks a column",
        );
    }
    let name = [&["resolve", "never-happened"], &ORDER[..]].concat();
    signed(&subject, &name)
        .await
        .refused(3, "is not of this version");
    assert_eq!((count(&subject, 4).await, audited(&subject).await), (1, 0));
}

pub(crate) async fn a_key_without_a_record_is_a_sentence<S: Subject>() {
    let subject = S::fresh().await;
    completed(&subject, "order-18").await;
    for command in [&["show"][..], &["release", "--reason", "r", "--yes"]] {
        let refused = idem(&subject, &[command, &ORDER[..]].concat()).await;
        refused.refused(1, "the key has no record in this namespace and scope");
    }
}

pub(crate) async fn a_wrong_value_is_a_fault_of_usage<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    for (args, sentence) in [
        (
            &["resolve", "completed", "--result", "{secret"][..],
            "the result is not JSON",
        ),
        (
            &[
                "resolve",
                "failed",
                "--class",
                "C",
                "--message",
                "m",
                "--data",
                "{",
            ],
            "--data is not JSON",
        ),
        (
            &["resolve", "never-happened", "--retention", "soon"],
            "--retention",
        ),
        (&["list", "--key-hash", "xyz"], "12 hexadecimal digits"),
    ] {
        let args = if args[0] == "list" {
            args.to_vec()
        } else {
            [args, &ORDER, &["--reason", "r", "--yes"]].concat()
        };
        let refused = idem(&subject, &args).await.refused(2, sentence);
        assert!(!refused.err.contains("secret"), "{refused:?}");
    }
    idem(&subject, &["show", "payments", "order-17"])
        .await
        .refused(2, "--global");
    idem(&subject, &["show", "Payments!", "k", "--global"])
        .await
        .refused(2, "namespace");
    assert_eq!((count(&subject, 4).await, audited(&subject).await), (1, 0));
}

#[tokio::test]
async fn a_url_that_leads_nowhere_is_a_sentence_that_does_not_show_it() {
    for (url, code, sentence) in [
        ("", 2, "the URL names no database that idem knows"),
        (
            "oracle://scott:tiger@db/x",
            2,
            "the URL names no database that idem knows",
        ),
        (
            "postgres://ada:tiger@localhost:notaport/x",
            2,
            "the URL cannot be read",
        ),
        (
            "postgres://ada:tiger@127.0.0.1:1/x",
            3,
            "the server cannot be reached: connection refused",
        ),
        (
            "mysql://ada:tiger@127.0.0.1:1/x",
            3,
            "the server cannot be reached: connection refused",
        ),
        (
            "sqlite:///nowhere/tiger.db",
            3,
            "the file of the URL does not exist",
        ),
    ] {
        let refused = run(url, &["stats"]).await.refused(code, sentence);
        assert!(refused.err.contains("\nmend: "), "{refused:?}");
        assert!(!refused.err.contains("tiger"), "{refused:?}");
    }
}

#[tokio::test]
async fn missing_rights_are_named() {
    let subject = Postgres::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    let role = subject.database().name().to_owned();
    let statement = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'tiger'; GRANT SELECT ON idem_record TO {role}; \
         GRANT SELECT, INSERT ON idem_audit TO {role}"
    );
    subject.run(&statement).await;
    let options = subject.database().options().clone();
    let (host, port) = (options.get_host().to_owned(), options.get_port());
    let url = format!("postgres://{role}:tiger@{host}:{port}/{role}");
    run(&url, &["list"]).await.done();
    let args = ["--reason", "r", "--yes"];
    let refused = run(
        &url,
        &[&["resolve", "never-happened"], &ORDER[..], &args].concat(),
    )
    .await;
    let refused = refused.refused(3, "lacks SELECT, UPDATE on `idem_record`");
    assert!(
        refused
            .err
            .contains("mend: GRANT SELECT, UPDATE ON idem_record TO"),
        "{refused:?}"
    );
    assert_eq!((count(&subject, 4).await, audited(&subject).await), (1, 0));
    let sql =
        format!("GRANT UPDATE ON idem_record TO {role}; REVOKE INSERT ON idem_audit FROM {role}");
    subject.run(&sql).await;
    let refused = run(
        &url,
        &[&["resolve", "never-happened"], &ORDER[..], &args].concat(),
    )
    .await;
    refused.refused(3, "lacks INSERT on `idem_audit`");
    assert_eq!((count(&subject, 4).await, audited(&subject).await), (1, 0));
    let sql = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    subject.run(&sql).await;
}

#[tokio::test]
async fn a_claim_that_a_body_has_committed_is_released_by_its_deletion() {
    let subject = MariaDb::fresh().await;
    let now = MariaDb::NOW;
    let sql = format!(
        "INSERT INTO idem_record (created_at, expires_at, session_id, attempt_id, attempt, status, fingerprint_version, \
         codec, namespace, scope, `key`, operation) VALUES ({now}, 9223372036854775807, 1, \
         x'00112233445566778899aabbccddeeff', 1, 0, 1, 1, 'payments', 'customer-42', 'order-17', x'')"
    );
    subject.run(&sql).await;
    let shown = idem(&subject, &[&["show"], &ORDER[..]].concat())
        .await
        .done();
    assert!(shown.out.contains("claimed"), "{shown:?}");
    signed(&subject, &[&["release"], &ORDER[..]].concat())
        .await
        .done();
    assert_eq!((count(&subject, 0).await, audited(&subject).await), (0, 1));
}

#[tokio::test]
async fn a_database_without_any_table_is_a_sentence() {
    let database = Database::fresh().await;
    run(&database.url(), &["stats"])
        .await
        .refused(3, "the table `idem_record` does not exist");
    let mut conn = database.connect().await;
    let printed = run(&database.url(), &["schema", "print", "--only", "record"])
        .await
        .done();
    conn.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(printed.out)))
        .await
        .expect("a migration");
    run(&database.url(), &["stats"]).await.done();
}
