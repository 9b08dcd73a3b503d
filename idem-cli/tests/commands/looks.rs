//! What only looks.

use idem_runtime::policy::OnLapse;
use serde_json::{Value, json};

use crate::program::{idem, run};
use crate::story::{ORDER, completed, lease, unknown};
use crate::subject::Subject;

pub(crate) async fn what_schema_print_prints_is_fit<S: Subject>() {
    let subject = S::fresh().await;
    let verified = idem(&subject, &["schema", "verify", "--outbox"])
        .await
        .done();
    assert_eq!(verified.out, "the tables are fit\n");
    subject.run("DROP TABLE idem_audit").await;
    let found = idem(&subject, &["schema", "verify", "--json"]).await;
    assert_eq!(found.code, 1, "{found:?}");
    let found = found.json();
    assert_eq!(found[0]["table"], "idem_audit");
    assert_eq!(found[0]["severity"], "fault");
}

pub(crate) async fn an_archive_or_a_hold_of_another_version_is_found<S: Subject>() {
    let subject = S::fresh().await;
    for (table, column) in [("idem_archive", "payload_hash"), ("idem_hold", "reason")] {
        let renamed = format!("ALTER TABLE {table} RENAME COLUMN {column} TO other");
        subject.run(&renamed).await;
        let found = idem(&subject, &["schema", "verify", "--json"]).await;
        assert_eq!(found.code, 1, "{found:?}");
        let found = found.json();
        assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
        assert_eq!(found[0]["table"], table);
        assert_eq!(found[0]["severity"], "fault");
        // A service may do without it.
        subject.run("DROP TABLE IF EXISTS idem_archive").await;
    }
}

pub(crate) async fn records_are_counted_by_namespace_operation_and_status<S: Subject>() {
    let subject = S::fresh().await;
    let empty = idem(&subject, &["stats"]).await.done();
    assert_eq!(empty.out, "no record\n");
    for name in ["a", "b"] {
        completed(&subject, name).await;
    }
    subject.age(25).await;
    completed(&subject, "c").await;
    let _owner = lease(&subject, "d", OnLapse::Retry).await;
    subject.lapse().await;
    let stats = idem(&subject, &["stats", "--json"]).await.done().json();
    let counts = stats["counts"].as_array().expect("a list");
    assert_eq!(counts.len(), 2, "{counts:?}");
    let of = |operation: &str| {
        let found = counts.iter().find(|count| count["operation"] == operation);
        found.unwrap_or_else(|| panic!("{operation}"))
    };
    let paid = of("pay");
    assert_eq!((&paid["records"], &paid["expired"]), (&json!(3), &json!(2)));
    assert_eq!(
        (&paid["status"], &paid["lapsed"]),
        (&json!("completed"), &json!(0))
    );
    assert_eq!(paid["payload_bytes"], json!(87));
    assert_eq!(
        (&of("charge")["status"], &of("charge")["lapsed"]),
        (&json!("in-progress"), &json!(1))
    );
    let table = idem(&subject, &["stats"]).await.done().out;
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    let words: Vec<_> = lines[1].split_whitespace().take(6).collect();
    assert_eq!(
        words,
        ["payments", "charge", "in-progress", "1", "1", "0"],
        "{table}"
    );
}

pub(crate) async fn records_are_listed_by_what_is_asked_for<S: Subject>() {
    let subject = S::fresh().await;
    completed(&subject, "old").await;
    subject.age(2).await;
    completed(&subject, "new").await;
    let _unknown = unknown(&subject, "lost").await;
    let _live = lease(&subject, "live", OnLapse::Retry).await;
    let keys = async |args: &[&str]| {
        let all = [&["list", "--json"], args].concat();
        let listed = idem(&subject, &all).await.done().json();
        let listed = listed["records"].as_array().expect("a list").clone();
        let key = |record: &Value| record["key"].as_str().expect("a key").to_owned();
        listed.iter().map(key).collect::<Vec<_>>()
    };
    assert_eq!(keys(&[]).await.len(), 4);
    assert_eq!(keys(&["--limit", "3"]).await.len(), 3);
    for (limit, is_cut) in [("3", true), ("4", false)] {
        let args = ["list", "--limit", limit];
        let listed = idem(&subject, &[&args[..], &["--json"]].concat()).await;
        assert_eq!(listed.done().json()["cut"], is_cut);
        let listed = idem(&subject, &args).await.done();
        assert_eq!(
            listed.out.contains("cut at 3: there are more; --limit"),
            is_cut
        );
    }
    assert_eq!(keys(&["--status", "completed"]).await, ["new", "old"]);
    assert_eq!(
        keys(&["--status", "completed", "--older-than", "1h"]).await,
        ["old"]
    );
    assert_eq!(
        keys(&["--status", "unknown", "--status", "in-progress"])
            .await
            .len(),
        2
    );
    assert_eq!(
        keys(&["--operation", "charge", "--status", "unknown"]).await,
        ["lost"]
    );
    assert_eq!(keys(&["--scope", "somebody-else"]).await, [""; 0]);
    assert_eq!(keys(&["--namespace", "mail"]).await, [""; 0]);
    assert_eq!(keys(&["--lapsed"]).await, [""; 0]);
    subject.lapse().await;
    assert_eq!(keys(&["--lapsed"]).await, ["live"]);
    // The first 12 digits of the SHA-256 of `lost`.
    assert_eq!(keys(&["--key-hash", "faba17b90e46"]).await.len(), 0);
    assert_eq!(keys(&["--key-hash", LOST]).await, ["lost"]);
}

/// `printf lost | sha256sum | cut -c1-12`
const LOST: &str = "76f75e6129fe";

pub(crate) async fn a_payload_is_shown_only_where_it_is_revealed<S: Subject>() {
    let subject = S::fresh().await;
    completed(&subject, "order-17").await;
    for json in [&[][..], &["--json"]] {
        let hidden = idem(&subject, &[&["show"], &ORDER[..], json].concat())
            .await
            .done();
        assert!(!hidden.out.contains("tangerine"), "{hidden:?}");
        assert!(hidden.out.contains("order-17"), "{hidden:?}");
        let shown = idem(
            &subject,
            &[&["show", "--reveal"], &ORDER[..], json].concat(),
        )
        .await;
        assert!(shown.done().out.contains("tangerine"));
    }
    let listed = idem(&subject, &["list", "--json"]).await.done();
    assert!(!listed.out.contains("tangerine"), "{listed:?}");
}

pub(crate) async fn a_request_is_explained_against_its_record<S: Subject>() {
    let subject = S::fresh().await;
    // An atomic record keeps the hash alone, a lease keeps the request.
    completed(&subject, "hashed").await;
    let _unknown = unknown(&subject, "kept").await;
    let dir = tempfile::tempdir().expect("a directory");
    let explain = async |key: &str, request: &Value, args: &[&str]| {
        let file = dir.path().join("request.json");
        std::fs::write(&file, request.to_string()).expect("written");
        let file = file.to_str().expect("text").to_owned();
        let name = [
            "explain",
            "payments",
            key,
            "--scope",
            "customer-42",
            "--json",
            "--request",
            &file,
        ];
        idem(&subject, &[&name, args].concat()).await
    };
    let same = json!({ "cmd": { "cents": 1250.0, "account": 7 } });
    for key in ["hashed", "kept"] {
        let answer = explain(key, &same, &[]).await.done().json();
        assert_eq!(answer["verdict"], "same");
        let renamed = explain(key, &same, &["--operation", "refund"]).await;
        assert_eq!(renamed.code, 1);
        assert_eq!(renamed.json()["verdict"], "other-operation");
    }
    let added = json!({ "cmd": { "account": 7, "cents": 1_250, "memo": "pear" } });
    let answer = explain("kept", &added, &[]).await;
    assert_eq!(answer.code, 1);
    assert!(!answer.out.contains("pear"), "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["verdict"], "different");
    assert_eq!(answer["differences"], json!([{ "path": "cmd.memo" }]));
    let answer = explain("kept", &added, &["--reveal"]).await.json();
    assert_eq!(answer["differences"][0]["submitted"], "pear");
    let answer = explain("hashed", &added, &[]).await.json();
    let hint = answer["hints"][0].as_str().expect("a hint");
    assert!(
        hint.starts_with("without `cmd.memo` it is the recorded one"),
        "{hint}"
    );
    let other = json!({ "cmd": { "account": 8, "cents": 1_250 } });
    let answer = explain("hashed", &other, &[]).await.json();
    assert_eq!(
        answer["hints"].as_array().map(Vec::len),
        Some(4),
        "{answer}"
    );
}

#[tokio::test]
async fn completions_and_the_manual_page_are_generated() {
    for shell in ["bash", "zsh", "fish"] {
        let printed = run("", &["completions", shell]).await.done();
        assert!(
            printed.out.contains("idem") && printed.out.contains("never-happened"),
            "{shell}"
        );
    }
    let page = run("", &["man"]).await.done().out;
    assert!(page.contains(".TH idem 1"), "{page}");
    for section in [
        "IDEM OUTBOX REQUEUE",
        "IDEM RESOLVE COMPLETED",
        "IDEM DOCTOR",
    ] {
        assert!(page.contains(section), "{section}: {page}");
    }
}
