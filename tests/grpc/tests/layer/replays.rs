//! What a replay is, and who gets it.

use tonic::Code;

use crate::refusals::{is_replay, why};
use crate::relay::{Relay, Store, parcel};
use crate::wire;

pub(crate) async fn many_retries_have_one_effect_and_get_the_first_answer<D: Store>() {
    let relay = Relay::<D>::open().await;
    for attempt in 0..5 {
        let charged = relay.client().charge(parcel("a")).await.expect("charged");
        assert_eq!(is_replay(charged.metadata()), attempt > 0);
        let receipt = charged.metadata().get("x-receipt");
        assert_eq!(receipt.expect("metadata"), "1");
        let binary = charged.metadata().get_bin("x-receipt-bin").expect("binary");
        assert_eq!(binary.to_bytes().expect("bytes"), &[0, 255, 1][..]);
        assert_eq!(charged.get_ref().run, 1);
    }
    assert_eq!((relay.runs(), relay.records().await), (1, 1));
}

pub(crate) async fn a_replay_is_head_message_and_trailers_byte_for_byte<D: Store>() {
    let relay = Relay::<D>::open().await;
    for (how, data) in [
        ("whole", &b"\0\0\0\0\x02\xff\x01"[..]),
        ("empty", b"\0\0\0\0\0"),
    ] {
        let first = relay.odd(how, how, b"tea").await;
        assert_eq!((first.status, &*first.data), (200, data));
        assert_eq!(first.head["x-head"], "of the head");
        assert_eq!(first.trailers["grpc-status"], "0");
        assert_eq!(first.trailers["x-trailer"], "of the trailers");
        assert!(!first.head.contains_key("idempotent-replayed"));
        for _ in 0..2 {
            let mut again = relay.odd(how, how, b"tea").await;
            let marked = again.head.remove("idempotent-replayed");
            assert_eq!(marked.expect("marked"), "true");
            assert_eq!(again.of_the_result(), first.of_the_result());
        }
    }
    assert_eq!(relay.runs(), 2);
}

pub(crate) async fn a_method_gets_its_attempt_whose_key_it_gives_to_its_provider<D: Store>() {
    let relay = Relay::<D>::open().await;
    let mut external = Vec::new();
    for key in ["a", "a", "b"] {
        let charged = relay.client().charge(parcel(key)).await.expect("charged");
        let key = charged.metadata().get("x-external-key").expect("a key");
        external.push(key.to_str().expect("ASCII").to_owned());
    }
    assert_eq!((external[0].len(), &external[0]), (36, &external[1]));
    assert_ne!(external[0], external[2]);
}

pub(crate) async fn metadata_that_hold_secrets_are_not_recorded<D: Store>() {
    let relay = Relay::<D>::open_with(|layer| {
        layer
            .record_metadata(["x-session"])
            .omit_metadata(["x-head"])
    })
    .await;
    let first = relay.odd("whole", "a", b"tea").await;
    for name in ["x-auth-token", "x-session", "x-head"] {
        assert!(first.head.contains_key(name), "{name}");
    }
    let again = relay.odd("whole", "a", b"tea").await;
    assert!(again.head.contains_key("x-session"));
    for name in ["x-auth-token", "x-head"] {
        assert!(!again.head.contains_key(name), "{name}");
    }
}

pub(crate) async fn whoever_may_not_see_a_recorded_answer_is_not_shown_it<D: Store>() {
    let relay = Relay::<D>::open_with(|layer| {
        layer.authorize_replay(|call| !call.headers.contains_key("x-revoked"))
    })
    .await;
    relay.client().charge(parcel("a")).await.expect("charged");
    let mut revoked = parcel("a");
    let metadata = revoked.metadata_mut();
    metadata.insert("x-revoked", "yes".parse().expect("ASCII"));
    let refusal = relay.client().charge(revoked).await.expect_err("refused");
    let expected = (Code::PermissionDenied, "REPLAY_FORBIDDEN".to_owned());
    assert_eq!(why(&refusal), expected);
    let again = relay.client().charge(parcel("a")).await.expect("replayed");
    assert!(is_replay(again.metadata()));
}

pub(crate) async fn a_stream_that_ends_is_replayed_as_a_whole<D: Store>() {
    let relay = Relay::<D>::open().await;
    for replayed in [false, true] {
        let tracked = relay.client().track(parcel("a")).await.expect("tracked");
        assert_eq!(is_replay(tracked.metadata()), replayed);
        let mut messages = tracked.into_inner();
        for run in [1, 2, 3] {
            let message = messages.message().await.expect("a message");
            assert_eq!(message.expect("one more").run, run);
        }
        assert_eq!(messages.message().await.expect("the end"), None);
    }
    assert_eq!(relay.runs(), 1);
}

pub(crate) async fn the_method_is_not_asked_to_compress<D: Store>() {
    let relay = Relay::<D>::open().await;
    let mut call = wire::call("asked", "a", b"tea");
    let accepted = "gzip,identity".parse().expect("a value");
    call.headers_mut().insert("grpc-accept-encoding", accepted);
    let answer = relay.send(call).await;
    assert_eq!(answer.head["x-asked-to-compress"], "false");
}

pub(crate) async fn without_its_store_the_method_does_not_run<D: Store>() {
    let relay = Relay::<D>::open().await;
    relay.pool.close().await;
    let refusal = relay.client().charge(parcel("a")).await;
    let expected = (Code::Unavailable, "UNAVAILABLE".to_owned());
    assert_eq!(why(&refusal.expect_err("refused")), expected);
    assert_eq!(relay.runs(), 0);
}
