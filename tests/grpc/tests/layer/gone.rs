//! Calls that still run: duplicates of them, and clients that go away.

use std::time::Duration;

use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;
use idem_tests::postgres::fresh_key;
use tonic::{Code, Response};

use crate::refusals::{is_replay, refused, why};
use crate::relay::{Relay, Store, parcel};
use idem_tests_grpc::proto::Charged;

/// Repeats a call until its key is no longer in flight.
async fn repeated<D: Store>(relay: &Relay<D>, key: &str) -> Response<Charged> {
    let answered = async {
        loop {
            match relay.client().charge(parcel(key)).await {
                Err(status) => assert_eq!(why(&status).1, "IN_FLIGHT"),
                Ok(charged) => break charged,
            }
        }
    };
    in_time("the key stays in flight", answered).await
}

pub(crate) async fn a_duplicate_of_a_running_call_is_told_when_to_come_back<D: Store>() {
    let relay = Relay::<D>::open().await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let (mut client, call) = (relay.client(), parcel(key.as_str()));
    let first = tokio::spawn(async move { client.charge(call).await });
    gate.entered().await;
    let duplicate = relay.client().charge(parcel(key.as_str())).await;
    let refusal = refused(&duplicate.expect_err("it runs"));
    assert_eq!(refusal.code, Code::Unavailable);
    assert_eq!(refusal.reason, "IN_FLIGHT");
    assert!(refusal.retry_after.is_some_and(|wait| !wait.is_zero()));
    gate.open();
    let first = first.await.expect("no panic").expect("charged");
    assert!(!is_replay(first.metadata()));
    let again = relay.client().charge(parcel(key.as_str())).await;
    let again = again.expect("replayed");
    assert!(is_replay(again.metadata()));
    assert_eq!(again.get_ref(), first.get_ref());
    assert_eq!(relay.runs(), 1);
}

pub(crate) async fn a_client_that_cancels_does_not_stop_the_run_and_its_retry_gets_the_answer<
    D: Store,
>() {
    let relay = Relay::<D>::open().await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let (mut client, call) = (relay.client(), parcel(key.as_str()));
    // The channel stays open: only the stream is reset.
    let going = tokio::spawn(async move { client.charge(call).await });
    gate.entered().await;
    going.abort();
    assert!(going.await.is_err_and(|gone| gone.is_cancelled()));
    gate.open();
    let again = repeated(&relay, key.as_str()).await;
    assert!(is_replay(again.metadata()));
    assert_eq!((again.get_ref().run, relay.runs()), (1, 1));
}

pub(crate) async fn a_deadline_that_passes_does_not_stop_the_run_and_a_retry_gets_the_answer<
    D: Store,
>() {
    let relay = Relay::<D>::open().await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let mut call = parcel(key.as_str());
    // Long enough to reach the method, which does not end before it has passed.
    call.set_timeout(Duration::from_secs(5));
    let mut client = relay.client();
    let called = tokio::spawn(async move { client.charge(call).await });
    gate.entered().await;
    let status = called.await.expect("no panic").expect_err("too late");
    let ended = [Code::Cancelled, Code::DeadlineExceeded];
    assert!(ended.contains(&status.code()), "{status:?}");
    drop(gate);
    let again = repeated(&relay, key.as_str()).await;
    assert_eq!((again.get_ref().run, relay.runs()), (1, 1));
}

pub(crate) async fn runs_whose_clients_have_gone_count_and_a_call_over_the_limit_claims_nothing<
    D: Store,
>() {
    let relay = Relay::<D>::open_with(|layer| layer.max_concurrent(1)).await;
    let (key, other) = (fresh_key(), fresh_key());
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let (mut client, call) = (relay.client(), parcel(key.as_str()));
    let going = tokio::spawn(async move { client.charge(call).await });
    gate.entered().await;
    going.abort();
    assert!(going.await.is_err_and(|gone| gone.is_cancelled()));
    let over = relay.client().charge(parcel(other.as_str())).await;
    let refusal = refused(&over.expect_err("refused"));
    assert_eq!(refusal.code, Code::Unavailable);
    assert_eq!(refusal.reason, "TRY_AGAIN");
    assert!(refusal.retry_after.is_some());
    assert_eq!((relay.runs(), relay.records().await), (1, 1));
    gate.open();
    in_time("the run does not end", async {
        while relay.client().charge(parcel(other.as_str())).await.is_err() {}
    })
    .await;
    assert_eq!(relay.runs(), 2);
}
