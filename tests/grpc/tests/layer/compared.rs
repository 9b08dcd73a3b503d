//! Which calls are one.

use std::time::Duration;

use tonic::{Code, Request};

use crate::refusals::{is_replay, why};
use crate::relay::{Relay, Store, parcel};
use crate::wire;
use idem_tests_grpc::proto::Parcel;

fn mismatch() -> (Code, String) {
    (Code::FailedPrecondition, "MISMATCH".to_owned())
}

fn with(name: &'static str, value: &str) -> Request<Parcel> {
    let mut request = parcel("a");
    let metadata = request.metadata_mut();
    metadata.insert(name, value.parse().expect("ASCII"));
    request
}

pub(crate) async fn other_bytes_and_another_method_are_another_request<D: Store>() {
    let relay = Relay::<D>::open().await;
    relay.client().charge(parcel("a")).await.expect("charged");
    let mut heavier = parcel("a");
    heavier.get_mut().weight += 1;
    let refusal = relay.client().charge(heavier).await.expect_err("refused");
    assert_eq!(why(&refusal), mismatch());
    let other = relay.client().weigh(parcel("a")).await;
    assert_eq!(why(&other.expect_err("refused")), mismatch());
    assert_eq!((relay.runs(), relay.records().await), (1, 1));
}

pub(crate) async fn metadata_are_compared_only_if_they_are_named<D: Store>() {
    let relay = Relay::<D>::open_with(|layer| layer.compare_metadata(["x-region"])).await;
    let (eu, us) = (with("x-region", "eu"), with("x-region", "us"));
    relay.client().charge(eu).await.expect("charged");
    let refusal = relay.client().charge(us).await.expect_err("refused");
    assert_eq!(why(&refusal), mismatch());
    let refusal = relay.client().charge(parcel("a")).await;
    assert_eq!(why(&refusal.expect_err("refused")), mismatch());
    let mut again = with("x-region", "eu");
    let metadata = again.metadata_mut();
    metadata.insert("x-build", "17".parse().expect("ASCII"));
    let again = relay.client().charge(again).await.expect("replayed");
    assert!(is_replay(again.metadata()));
}

pub(crate) async fn what_a_client_changes_from_attempt_to_attempt_is_not_compared<D: Store>() {
    let relay = Relay::<D>::open().await;
    relay.odd("whole", "a", b"tea").await;
    let mut timed = wire::call("whole", "a", b"tea");
    for (name, value) in [
        ("grpc-timeout", "30S"),
        ("user-agent", "another/2.0"),
        ("grpc-accept-encoding", "gzip"),
        ("grpc-previous-rpc-attempts", "1"),
    ] {
        let value = value.parse().expect("a value");
        timed.headers_mut().insert(name, value);
    }
    let again = relay.send(timed).await;
    assert_eq!(again.head["idempotent-replayed"], "true");
    let mut late = parcel("b");
    relay.client().charge(parcel("b")).await.expect("charged");
    late.set_timeout(Duration::from_mins(1));
    let late = relay.client().charge(late).await.expect("replayed");
    assert!(is_replay(late.metadata()));
    assert_eq!(relay.runs(), 2);
}

pub(crate) async fn the_encoding_says_what_the_bytes_mean<D: Store>() {
    let relay = Relay::<D>::open().await;
    let encoded = |encoding: &'static str| {
        let mut call = wire::call("whole", "a", b"tea");
        let encoding = encoding.parse().expect("a value");
        call.headers_mut().insert("grpc-encoding", encoding);
        call
    };
    relay.odd("whole", "a", b"tea").await;
    let same = relay.send(encoded("identity")).await;
    assert_eq!(same.head["idempotent-replayed"], "true");
    let other = relay.send(encoded("gzip")).await;
    assert_eq!(why(&other.status()), mismatch());
    assert_eq!(relay.runs(), 1);
}

pub(crate) async fn several_messages_are_one_sequence_of_bytes<D: Store>() {
    let relay = Relay::<D>::open().await;
    let two = relay.odd_of("whole", "a", &[b"tea", b"coffee"]).await;
    assert_eq!(two.trailers["grpc-status"], "0");
    let again = relay.odd_of("whole", "a", &[b"tea", b"coffee"]).await;
    assert_eq!(again.head["idempotent-replayed"], "true");
    for other in [&[&b"tea"[..]][..], &[b"coffee", b"tea"], &[b"teacoffee"]] {
        let refusal = relay.odd_of("whole", "a", other).await;
        assert_eq!(why(&refusal.status()), mismatch());
    }
    assert_eq!(relay.runs(), 1);
}
