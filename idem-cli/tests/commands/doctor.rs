//! What an examination finds.

use idem_runtime::policy::OnLapse;
use idem_tests::postgres::{Cluster, Options, Pooler};
use serde_json::Value;
use sqlx::{Connection as _, Executor as _};

use crate::program::{idem, run};
use crate::story::{completed, lease, unknown};
use crate::subject::{Postgres, Subject, migrations};

/// Returns the findings of a check. Those of the servers' own settings, which the tests do not choose, are others.
async fn found<S: Subject>(subject: &S, check: &str, args: &[&str]) -> Vec<Value> {
    let answer = idem(subject, &[&["doctor", "--json"], args].concat()).await;
    assert!([0, 1].contains(&answer.code), "{answer:?}");
    let found = answer.clone().json();
    let found = found.as_array().expect("a list").clone();
    assert_eq!(answer.code == 0, found.is_empty(), "{answer:?}");
    for finding in &found {
        let mend = finding["mend"].as_str().expect("a line");
        assert!(!mend.is_empty(), "{finding}");
    }
    found
        .into_iter()
        .filter(|finding| finding["check"] == check)
        .collect()
}

pub(crate) async fn what_waits_for_somebody_is_found<S: Subject>() {
    let subject = S::fresh().await;
    let quiet = [
        "unknown", "lapsed", "claimed", "purge", "audit", "table", "rights", "index", "replica",
        "pooler", "clock", "bloat", "file", "version",
    ];
    for check in quiet {
        let found = found(&subject, check, &[]).await;
        assert!(found.is_empty(), "{found:?}");
    }
    let _unknown = unknown(&subject, "a").await;
    let _lapsed = lease(&subject, "b", OnLapse::Retry).await;
    subject.lapse().await;
    for check in ["unknown", "lapsed"] {
        let found = found(&subject, check, &[]).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0]["mend"]
                .as_str()
                .is_some_and(|line| line.starts_with("idem list"))
        );
    }
    let people = idem(&subject, &["doctor"]).await;
    assert!(
        people.out.contains("\n  mend: idem list --lapsed"),
        "{people:?}"
    );
}

pub(crate) async fn a_missing_table_is_found<S: Subject>() {
    let subject = S::fresh().await;
    subject.run("DROP TABLE idem_audit").await;
    let audit = found(&subject, "audit", &[]).await;
    assert_eq!(
        audit[0]["mend"],
        "run the migration of `idem schema print --only audit`"
    );
    let answer = idem(&subject, &["doctor", "--table", "other_record"]).await;
    assert_ne!(answer.code, 0, "{answer:?}");
    assert!(
        format!("{}{}", answer.out, answer.err).contains("`other_record`"),
        "{answer:?}"
    );
}

pub(crate) async fn a_missing_index_is_found<S: Subject>() {
    let subject = S::fresh().await;
    let on = if S::DATABASE == "mysql" {
        " ON idem_record"
    } else {
        ""
    };
    subject
        .run(&format!("DROP INDEX idem_record_locked_until{on}"))
        .await;
    let found = found(&subject, "index", &[]).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0]["text"]
            .as_str()
            .is_some_and(|text| text.contains("locked_until"))
    );
}

pub(crate) async fn a_retention_below_the_brokers_window_is_found<S: Subject>() {
    let subject = S::fresh().await;
    completed(&subject, "a").await;
    assert_eq!(
        found(&subject, "retention", &["--broker-window", "1h"])
            .await
            .len(),
        0
    );
    let shorter = found(&subject, "retention", &["--broker-window", "7d"]).await;
    assert_eq!(shorter.len(), 1, "{shorter:?}");
    let text = shorter[0]["text"].as_str().expect("text");
    assert!(
        text.contains("`pay` of payments keeps records for 86400 s"),
        "{text}"
    );
}

#[tokio::test]
async fn settings_that_put_secrets_into_the_log_are_found() {
    let subject = Postgres::fresh().await;
    let name = subject.database().name().to_owned();
    let logs = found(&subject, "log", &[]).await.len();
    subject
        .run(&format!("ALTER DATABASE {name} SET log_statement = 'all'"))
        .await;
    subject
        .run(&format!(
            "ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"
        ))
        .await;
    assert_eq!(found(&subject, "log", &[]).await.len(), logs + 1);
    assert_eq!(found(&subject, "isolation", &[]).await.len(), 1);
    subject
        .run(&format!(
            "ALTER DATABASE {name} SET synchronous_commit = off"
        ))
        .await;
    assert_eq!(
        found(&subject, "durability", &[])
            .await
            .iter()
            .filter(|finding| {
                finding["text"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("synchronous_commit"))
            })
            .count(),
        1
    );
}

#[tokio::test]
async fn rights_that_are_missing_are_found() {
    let subject = Postgres::fresh().await;
    let role = subject.database().name().to_owned();
    let grants = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'tiger'; GRANT SELECT, INSERT ON idem_record TO {role}; \
         GRANT SELECT, INSERT ON idem_audit TO {role}"
    );
    subject.run(&grants).await;
    let options = subject.database().options().clone();
    let (host, port) = (options.get_host().to_owned(), options.get_port());
    let url = format!("postgres://{role}:tiger@{host}:{port}/{role}");
    let answer = run(&url, &["doctor", "--json"]).await;
    let found = answer.json();
    let lacking: Vec<_> = found
        .as_array()
        .expect("a list")
        .iter()
        .filter(|finding| finding["check"] == "rights")
        .collect();
    assert_eq!(lacking.len(), 2, "{lacking:?}");
    let holds = found.as_array().expect("a list").iter();
    let holds: Vec<_> = holds
        .filter(|finding| finding["check"] == "holds")
        .collect();
    assert_eq!(holds.len(), 1, "{found}");
    assert_eq!(holds[0]["severity"], "fault");
    subject
        .run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .await;
}

/// The checks that a doctor names at this address.
async fn checks_at(url: &str) -> Vec<String> {
    let answer = run(url, &["doctor", "--json"]).await;
    assert_eq!((answer.code, &*answer.err), (1, ""), "{answer:?}");
    let found = answer.json();
    let found = found.as_array().expect("a list").iter();
    found
        .map(|finding| finding["check"].as_str().expect("a name").to_owned())
        .collect()
}

#[tokio::test]
async fn a_pooler_is_found_and_the_program_works_behind_it() {
    let (database, pooler) = Pooler::fresh().await;
    let mut conn = database.connect().await;
    let migration = sqlx::raw_sql(sqlx::AssertSqlSafe(migrations("postgres")));
    conn.execute(migration).await.expect("a migration");
    let options = pooler.options();
    let url = format!(
        "postgres://{}@{}:{}/{}",
        options.get_username(),
        options.get_host(),
        options.get_port(),
        database.name()
    );
    let checks = checks_at(&url).await;
    assert!(checks.contains(&"pooler".to_owned()), "{checks:?}");
    for wrong in ["replica", "rights", "table", "holds"] {
        assert!(!checks.contains(&wrong.to_owned()), "{checks:?}");
    }
    run(&url, &["list"]).await.done();
    let signature = ["--reason", "ticket 17", "--yes"];
    let hold = ["hold", "add", "--scope", "customer-42"];
    run(&url, &[&hold[..], &signature].concat()).await.done();
    let purge = ["purge", "--archive"];
    run(&url, &[&purge[..], &signature].concat()).await.done();
}

#[tokio::test]
async fn a_standby_is_found_and_nothing_can_be_changed_there() {
    let primary = Cluster::start(Options::new()).expect("a server");
    let mut conn = sqlx::PgConnection::connect(&primary.url("postgres"))
        .await
        .expect("a connection");
    let migration = sqlx::raw_sql(sqlx::AssertSqlSafe(migrations("postgres")));
    conn.execute(migration).await.expect("a migration");
    let standby = Cluster::standby_of(&primary).expect("a standby");
    let url = standby.url("postgres");
    let checks = checks_at(&url).await;
    assert!(checks.contains(&"replica".to_owned()), "{checks:?}");
    run(&url, &["list"]).await.done();
    for args in [&["purge"][..], &["hold", "add", "--scope", "customer-42"]] {
        let signature = ["--reason", "ticket 17", "--yes"];
        let refused = run(&url, &[args, &signature].concat()).await;
        let refused = refused.refused(3, "the server accepts no writes; nothing was changed");
        assert!(refused.err.contains("mend: use the URL of the primary"));
    }
}

#[tokio::test]
async fn a_doctor_who_cannot_begin_says_why() {
    let nowhere = [
        ("", 2),
        ("oracle://scott:tiger@db/x", 2),
        ("postgres://ada:tiger@127.0.0.1:1/x", 3),
        ("sqlite:///nowhere/tiger.db", 3),
    ];
    for (url, code) in nowhere {
        let refused = run(url, &["doctor"]).await.refused(code, "");
        assert!(refused.err.contains("\nmend: "), "{refused:?}");
        assert!(!refused.err.contains("tiger"), "{refused:?}");
    }
    let subject = Postgres::fresh().await;
    let refused = idem(&subject, &["doctor", "--broker-window", "a week"]).await;
    refused.refused(2, "--broker-window");
    // A table of another version is a finding, not a fault of the doctor's.
    subject
        .run("ALTER TABLE idem_record RENAME COLUMN codec TO codecs")
        .await;
    let found = found(&subject, "table", &[]).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["severity"], "fault");
}
