//! Callers that wait, and callers that come back.

use idem_client::ledger::{EventId, Ledger, LedgerError, LedgerState};
use idem_tests::patience::in_time;
use tokio::sync::oneshot;

use crate::subject::{Office, Subject, client};

pub(crate) async fn a_caller_that_waits_gets_the_answer_and_a_restarted_one_looks_it_up<
    S: Subject,
>() {
    let office = Office::<S>::open().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = office.ledger.worker(office.pool().clone(), client());
    let working = tokio::spawn(worker.run(stopped));
    let id = office.enqueue(office.order("tea", "pass")).await;
    let waiting = office.ledger.settled(office.pool(), &id);
    let entry = in_time("the request is answered", waiting).await;
    let entry = entry.expect("an answer");
    assert!(matches!(entry.state, LedgerState::Answered(_)), "{entry:?}");
    drop(stop);
    working.await.expect("no panic");
    // Another process knows the id only.
    let id = EventId::parse(id.as_str()).expect("an id");
    let again = Ledger::new().settled(office.pool(), &id).await;
    let LedgerState::Answered(answer) = again.expect("an answer").state else {
        panic!("not answered");
    };
    assert_eq!(answer.status, 201);
}

pub(crate) async fn a_request_that_was_never_committed_is_missing<S: Subject>() {
    let office = Office::<S>::open().await;
    let id = EventId::parse(&"a".repeat(64)).expect("an id");
    let missing = office.ledger.settled(office.pool(), &id).await;
    assert!(matches!(missing, Err(LedgerError::Missing { id: found }) if found == id));
    assert!(
        !office
            .ledger
            .requeue(office.pool(), &id)
            .await
            .expect("an answer")
    );
}
