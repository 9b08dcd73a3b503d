//! Legal holds.

use std::time::Duration;

use idem_runtime::operate::{Author, OperateError};
use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::store::Outcome;
use idem_runtime::{Error, Operation, PurgeWorker, Scope};
use idem_tests::patience::in_time;
use serde_json::json;

use crate::program::{idem, signed};
use crate::story::{audited, completed, completed_in, count, key, request, store, unknown};
use crate::subject::Subject;

pub(crate) const ADD: [&str; 4] = ["hold", "add", "--scope", "customer-42"];
const LIFT: [&str; 4] = ["hold", "lift", "--scope", "customer-42"];

fn author() -> Author {
    Author::new("ada", "case 9").expect("names")
}

fn held() -> Scope {
    Scope::new("customer-42").expect("a scope")
}

fn worker<S: Subject>(subject: &S) -> PurgeWorker<S::Db> {
    let worker = PurgeWorker::new(subject.pool().clone()).batch(10);
    let worker = worker.pause(Duration::ZERO);
    worker
        .unknown_retention(Duration::from_micros(1))
        .expect("a retention")
}

async fn purge_expired<S: Subject>(subject: &S) -> u64 {
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let store = store();
    let mut bound = store.in_connection(&mut *conn);
    bound.purge_expired(100).await.expect("purged")
}

pub(crate) async fn what_is_on_hold_is_neither_purged_nor_forgotten<S: Subject>() {
    let subject = S::fresh().await;
    for name in ["a", "b"] {
        completed(&subject, name).await;
    }
    completed_in(&subject, "a", "customer-43").await;
    let _unknown = unknown(&subject, "lost").await;
    subject.age(25).await;
    let sql = format!(
        "UPDATE idem_record SET locked_until = {} - {} WHERE status = 4",
        S::NOW,
        S::HOUR
    );
    subject.run(&sql).await;
    signed(&subject, &ADD).await.done();
    let listed = idem(&subject, &["hold", "list", "--json"]).await.done();
    assert_eq!(listed.json()[0]["scope"], "customer-42");
    let counted = idem(&subject, &["purge", "--dry-run", "--json"]).await;
    let counted = counted.done().json();
    assert_eq!(
        (&counted["held"], &counted["counts"][0]["expired"]),
        (&json!(2), &json!(3)),
        "{counted}"
    );
    let args = ["purge", "--json", "--unknown-older-than", "1us"];
    let purged = signed(&subject, &args).await.done().json();
    assert_eq!(purged["deleted"], 1, "only the other scope's");
    assert_eq!(worker(&subject).run_once().await.expect("swept").rows, 0);
    assert_eq!(purge_expired(&subject).await, 0);
    let args = ["purge", "--json", "--archive"];
    assert_eq!(signed(&subject, &args).await.done().json()["deleted"], 0);
    let forget = ["forget", "--scope", "customer-42"];
    let refused = signed(&subject, &forget).await;
    refused.refused(1, "the scope is under a legal hold");
    assert_eq!((count(&subject, 1).await, count(&subject, 4).await), (2, 1));
    signed(&subject, &ADD)
        .await
        .refused(1, "under a legal hold already");
    signed(&subject, &LIFT).await.done();
    signed(&subject, &LIFT)
        .await
        .refused(1, "under no legal hold");
    let purged = worker(&subject).run_once().await.expect("swept");
    assert_eq!((purged.rows, purged.unknown), (3, 1));
    // The hold, a purge, the lift.
    assert_eq!(audited(&subject).await, 3);
    for (action, rows) in [("hold", 1), ("lift", 1)] {
        let sql = format!(
            "SELECT count(*) FROM idem_audit WHERE action = '{action}' AND scope = 'customer-42' AND actor = 'ada'"
        );
        assert_eq!(subject.number(&sql).await, rows, "{action}");
    }
}

pub(crate) async fn under_a_hold_a_strict_record_does_not_expire<S: Subject>() {
    const PAY: Operation = Operation::new("payments", "pay").strict_expiry();

    let subject = S::fresh().await;
    let (store, other) = (store().strict_expiry(), json!({ "cmd": "another" }));
    let pay = async |name: &str, request: &serde_json::Value| {
        let body = async |_: &mut sqlx::Transaction<'_, S::Db>| Ok::<_, Error>(json!(7));
        let paid = PAY.run(subject.pool(), &key(name), request, body).await;
        paid.map(|paid| paid.replayed())
    };
    completed(&subject, "leased").await;
    completed(&subject, "joined").await;
    assert!(!pay("atomic", &json!(1)).await.expect("paid"));
    subject.age(25).await;
    signed(&subject, &ADD).await.done();
    // Through a pool.
    assert!(pay("atomic", &json!(1)).await.expect("a replay"));
    let refused = pay("atomic", &json!(2)).await;
    assert!(matches!(refused, Err(Error::Mismatch(_))), "{refused:?}");
    // In a transaction of the caller's.
    let mut tx = subject.pool().begin().await.expect("a transaction");
    let mut bound = store.in_transaction(&mut *tx).expect("a transaction");
    let refused = bound.begin(&key("joined"), "pay", &other).await;
    assert!(matches!(refused, Ok(Outcome::Mismatch(_))), "{refused:?}");
    let replay = bound.begin(&key("joined"), "pay", &request()).await;
    let is_replay = matches!(replay, Ok(Outcome::PriorResult { .. }));
    assert!(is_replay, "{replay:?}");
    tx.rollback().await.expect("rolled back");
    // Under a lease.
    let lease = Lease::new(Duration::from_mins(5), OnLapse::Retry).expect("a length");
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let mut bound = store.in_connection(&mut *conn);
    let leased = bound
        .begin_leased(&key("leased"), "pay", &other, lease)
        .await;
    assert!(matches!(leased, Ok(Outcome::Mismatch(_))), "{leased:?}");
    drop(conn);
    let changed = subject.number("SELECT count(*) FROM idem_record WHERE attempt = 1");
    assert_eq!(changed.await, 3);
    signed(&subject, &LIFT).await.done();
    assert!(!pay("atomic", &json!(2)).await.expect("paid anew"));
}

pub(crate) async fn after_a_hold_nothing_of_its_scope_is_deleted<S: Subject>() {
    let subject = S::fresh().await;
    for name in 0..120 {
        completed(&subject, &format!("order-{name}")).await;
    }
    subject.age(25).await;
    let operator = subject.operator();
    let hold = async {
        // On SQLite a sweep may have the write lock for too long.
        loop {
            match operator.add_hold(&held(), &author()).await {
                Err(OperateError::Library(Error::Busy(_))) => {}
                done => break done.expect("held"),
            }
        }
        count(&subject, 1).await
    };
    let sweep = async { worker(&subject).run_once().await.expect("swept") };
    let (left, _) = in_time("the race", async { tokio::join!(hold, sweep) }).await;
    assert_eq!(count(&subject, 1).await, left);
    worker(&subject).run_once().await.expect("swept");
    assert_eq!(count(&subject, 1).await, left);
}

pub(crate) async fn without_the_table_no_hold_is_placed<S: Subject>() {
    let subject = S::fresh().await;
    subject.run("DROP TABLE idem_hold").await;
    if S::DATABASE == "mysql" {
        // As before the migration.
        subject.run("ALTER TABLE idem_record COMMENT = ''").await;
    }
    let refused = signed(&subject, &ADD)
        .await
        .refused(3, "there is no table `idem_hold`");
    assert!(refused.err.contains("mend: idem schema print --only hold"));
    completed(&subject, "a").await;
    subject.age(25).await;
    assert_eq!(worker(&subject).run_once().await.expect("swept").rows, 1);
    assert_eq!(audited(&subject).await, 0);
}
