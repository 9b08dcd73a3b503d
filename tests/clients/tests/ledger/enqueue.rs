//! What is stored, and when.

use http::Request;
use idem_client::ledger::{LedgerError, LedgerState};
use idem_messaging::outbox::OutboxError;
use idem_tests::dialect::Dialect as _;

use crate::subject::{Office, Subject};

pub(crate) async fn a_request_is_sent_if_and_only_if_its_transaction_was_committed<S: Subject>() {
    let office = Office::<S>::open().await;
    let mut tx = office.pool().begin().await.expect("a transaction");
    let request = office.order("undone", "pass");
    let undone = office.ledger.enqueue(&mut tx, request).await;
    let undone = undone.expect("enqueued");
    tx.rollback().await.expect("rolled back");
    let id = office.enqueue(office.order("tea", "pass")).await;
    assert!(office.town.requests("tea").is_empty());
    assert!(matches!(
        office.entry(&id).await.state,
        LedgerState::Open {
            attempts: 0,
            error: None
        }
    ));
    office.sweep().await;
    let entry = office.entry(&id).await;
    let LedgerState::Answered(answer) = entry.state else {
        panic!("not answered: {entry:?}");
    };
    assert_eq!(answer.status, 201);
    let placed: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!(placed["item"], "tea");
    assert_eq!(answer.headers["content-type"], "application/json");
    let key = entry.key.to_header();
    assert_eq!(
        office.keys("tea"),
        [Some(key.to_str().expect("text").to_owned())]
    );
    assert!(office.town.requests("undone").is_empty());
    let none = office.ledger.entry(office.pool(), &undone).await;
    assert!(none.expect("an answer").is_none());
}

pub(crate) async fn a_key_is_enqueued_once_whatever_became_of_it<S: Subject>() {
    let office = Office::<S>::open().await;
    let order = |item: &str| {
        let mut order = office.order(item, "pass");
        let value = "\"cart-17\"".parse().expect("a value");
        order.headers_mut().insert("idempotency-key", value);
        order
    };
    let id = office.enqueue(order("first")).await;
    for settled in [false, true] {
        if settled {
            office.sweep().await;
        }
        let mut tx = office.pool().begin().await.expect("a transaction");
        let again = office.ledger.enqueue(&mut tx, order("second")).await;
        let Err(LedgerError::Duplicate { id: found }) = again else {
            panic!("not refused: {again:?}");
        };
        assert_eq!(found, id);
        // The transaction can go on.
        let other = office.order("other", "pass");
        let other = office.ledger.enqueue(&mut tx, other).await;
        other.expect("enqueued");
        tx.commit().await.expect("committed");
    }
    office.sweep().await;
    assert_eq!(office.keys("first"), [Some("\"cart-17\"".to_owned())]);
    assert!(office.town.requests("second").is_empty());
    assert_eq!(office.town.effects("other").await, 2);
    assert_eq!(office.queued().await, 0);
}

pub(crate) async fn nothing_is_enqueued_where_the_transaction_has_ended<S: Subject>() {
    let office = Office::<S>::open().await;
    let mut tx = office.pool().begin().await.expect("a transaction");
    let safe = Request::get("https://a.example")
        .body("")
        .expect("a request");
    let refused = office.ledger.enqueue(&mut tx, safe).await;
    assert!(matches!(refused, Err(LedgerError::Key(_))));
    S::commit_below(&mut tx).await;
    let request = office.order("alone", "pass");
    let enqueued = office.ledger.enqueue(&mut tx, request).await;
    // SQLite begins a transaction of its own for the append, which the caller undoes.
    if let Err(error) = enqueued {
        let ended = LedgerError::Queue(OutboxError::NoTransaction);
        assert_eq!(error.to_string(), ended.to_string());
    }
    let _rolled_back = tx.rollback().await;
    office.sweep().await;
    assert!(office.town.requests("alone").is_empty());
    let rows = S::Db::number(office.pool(), "SELECT count(*) FROM idem_ledger").await;
    assert_eq!(rows, 0);
}
