//! What deletes records: purge and forget.

use idem_runtime::policy::OnLapse;
use idem_runtime::store::Outcome;
use serde_json::json;

use crate::program::{idem, signed};
use crate::story::{audited, complete, completed, count, key, lease, request, store, unknown};
use crate::subject::Subject;

pub(crate) async fn a_purge_deletes_what_a_dry_run_has_counted<S: Subject>() {
    let subject = S::fresh().await;
    for name in ["a", "b", "c"] {
        completed(&subject, name).await;
    }
    subject.age(25).await;
    completed(&subject, "new").await;
    let _unknown = unknown(&subject, "lost").await;
    let counted = idem(&subject, &["purge", "--dry-run", "--json"])
        .await
        .done()
        .json();
    assert_eq!(counted["counts"][0]["expired"], 3, "{counted}");
    assert_eq!((count(&subject, 1).await, audited(&subject).await), (4, 0));
    let purged = signed(&subject, &["purge", "--json"]).await.done().json();
    assert_eq!(
        purged,
        json!({ "deleted": 3, "unknown": 0, "archived": 0, "retired": 0 })
    );
    assert_eq!((count(&subject, 1).await, count(&subject, 4).await), (1, 1));
    assert_eq!(audited(&subject).await, 1);
    let sql = format!(
        "UPDATE idem_record SET locked_until = {} - 2 * {}",
        S::NOW,
        S::HOUR
    );
    subject.run(&format!("{sql} WHERE status = 4")).await;
    let none = signed(&subject, &["purge", "--json", "--unknown-older-than", "3h"]).await;
    assert_eq!(none.done().json()["deleted"], 0);
    let purged = signed(&subject, &["purge", "--json", "--unknown-older-than", "1h"]).await;
    assert_eq!(
        purged.done().json(),
        json!({ "deleted": 1, "unknown": 1, "archived": 0, "retired": 0 })
    );
}

const FORGET: [&str; 3] = ["forget", "--scope", "customer-42"];

pub(crate) async fn a_scope_is_forgotten_and_no_other<S: Subject>() {
    let subject = S::fresh().await;
    // More than one statement deletes.
    for name in 0..205 {
        completed(&subject, &format!("order-{name}")).await;
    }
    let nobody = signed(&subject, &["forget", "--scope", "customer-4"])
        .await
        .done();
    assert_eq!(nobody.out, "records deleted: 0\n");
    let forgotten = signed(&subject, &FORGET).await.done();
    assert_eq!(forgotten.out, "records deleted: 205\n");
    assert_eq!((count(&subject, 1).await, audited(&subject).await), (0, 2));
    // All callers are no tenant.
    signed(&subject, &["forget", "--scope", ""])
        .await
        .refused(2, "scope");
}

pub(crate) async fn a_scope_with_an_open_outcome_is_not_forgotten<S: Subject>() {
    let subject = S::fresh().await;
    completed(&subject, "a").await;
    let owner = lease(&subject, "b", OnLapse::Retry).await;
    signed(&subject, &FORGET)
        .await
        .refused(1, "records in progress: 1");
    complete(&subject, &owner, &json!(1))
        .await
        .expect("its own");
    let _unknown = unknown(&subject, "c").await;
    signed(&subject, &FORGET)
        .await
        .refused(1, "of unknown outcome: 1");
    assert_eq!((count(&subject, 1).await, audited(&subject).await), (2, 0));
}

pub(crate) async fn a_call_in_flight_ends_unharmed_while_its_scope_is_forgotten<S: Subject>() {
    let subject = S::fresh().await;
    completed(&subject, "a").await;
    let store = store();
    let mut tx = subject.pool().begin().await.expect("a transaction");
    let mut bound = store.in_transaction(&mut *tx).expect("a transaction");
    let claim = match bound.begin(&key("b"), "pay", &request()).await {
        Ok(Outcome::Fresh(claim)) => claim,
        other => panic!("not fresh: {other:?}"),
    };
    let forgotten = signed(&subject, &FORGET).await;
    let deleted = i64::from(S::DATABASE != "sqlite");
    if deleted == 1 {
        forgotten.done();
    } else {
        // The body holds the only write lock.
        forgotten.refused(3, "");
    }
    bound.commit(claim, &json!(2)).await.expect("recorded");
    tx.commit().await.expect("committed");
    assert_eq!(count(&subject, 1).await, 2 - deleted);
    assert_eq!(audited(&subject).await, deleted);
    signed(&subject, &FORGET).await.done();
    assert_eq!(count(&subject, 1).await, 0);
}
