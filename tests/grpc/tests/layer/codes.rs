//! What becomes of an answer, by its code and by what the operation says of a lapse.

use idem_runtime::policy::OnLapse;
use idem_tonic::layer::{Keep, keep};
use tonic::Code;

use crate::refusals::{is_replay, why};
use crate::relay::{OPERATION, REPEATABLE, Relay, Store, parcel, with_code};

/// The call was refused.
const REFUSED: [Code; 10] = [
    Code::InvalidArgument,
    Code::NotFound,
    Code::AlreadyExists,
    Code::PermissionDenied,
    Code::ResourceExhausted,
    Code::FailedPrecondition,
    Code::Aborted,
    Code::OutOfRange,
    Code::Unimplemented,
    Code::Unauthenticated,
];

/// The method may have done its work.
const OPEN: [Code; 6] = [
    Code::Cancelled,
    Code::Unknown,
    Code::DeadlineExceeded,
    Code::Internal,
    Code::Unavailable,
    Code::DataLoss,
];

fn unknown() -> (Code, String) {
    (Code::FailedPrecondition, "OUTCOME_UNKNOWN".to_owned())
}

/// Each code, and a key of its own.
fn keyed<const N: usize>(codes: [Code; N]) -> [(Code, String); N] {
    codes.map(|code| (code, format!("{code:?}")))
}

pub(crate) async fn a_refusal_releases_the_key_whatever_the_operation_says<D: Store>() {
    for operation in [OPERATION, REPEATABLE] {
        let relay = Relay::<D>::open_for(operation, |layer| layer).await;
        for (code, key) in keyed(REFUSED) {
            let first = relay.client().charge(with_code(&key, code)).await;
            let first = first.expect_err("refused by the method");
            assert_eq!((first.code(), first.message()), (code, "not yet"));
            let again = relay.client().charge(with_code(&key, code)).await;
            assert!(!is_replay(again.expect("charged").metadata()), "{code:?}");
            let third = relay.client().charge(with_code(&key, code)).await;
            assert!(is_replay(third.expect("replayed").metadata()), "{code:?}");
        }
        assert_eq!(relay.runs(), 20);
    }
}

pub(crate) async fn a_code_that_leaves_it_open_is_not_followed_by_a_second_run<D: Store>() {
    let relay = Relay::<D>::open().await;
    for (code, key) in keyed(OPEN) {
        let first = relay.client().charge(with_code(&key, code)).await;
        assert_eq!(first.expect_err("in doubt").code(), code);
        let again = relay.client().charge(with_code(&key, code)).await;
        assert_eq!(why(&again.expect_err("refused")), unknown(), "{code:?}");
    }
    assert_eq!(relay.runs(), 6);
}

pub(crate) async fn where_a_lapse_may_be_retried_so_may_a_code_that_leaves_it_open<D: Store>() {
    let relay = Relay::<D>::open_for(REPEATABLE, |layer| layer).await;
    for (code, key) in keyed(OPEN) {
        let first = relay.client().charge(with_code(&key, code)).await;
        assert_eq!(first.expect_err("in doubt").code(), code);
        let again = relay.client().charge(with_code(&key, code)).await;
        assert!(!is_replay(again.expect("charged").metadata()), "{code:?}");
    }
    assert_eq!(relay.runs(), 12);
}

pub(crate) async fn what_the_layer_says_of_a_code_stands_over_the_default<D: Store>() {
    let relay = Relay::<D>::open_with(|layer| {
        layer.keep(|code| match code {
            Code::AlreadyExists => Keep::Record,
            Code::ResourceExhausted => Keep::Unknown,
            Code::Unavailable => Keep::Release,
            _ => keep(code, OnLapse::Unknown),
        })
    })
    .await;
    for replayed in [false, true, true] {
        let call = with_code("a", Code::AlreadyExists);
        let status = relay.client().charge(call).await.expect_err("recorded");
        assert_eq!(
            (status.code(), status.message()),
            (Code::AlreadyExists, "not yet")
        );
        assert_eq!(is_replay(status.metadata()), replayed);
    }
    let exhausted = || with_code("b", Code::ResourceExhausted);
    let first = relay.client().charge(exhausted()).await;
    assert_eq!(first.expect_err("in doubt").code(), Code::ResourceExhausted);
    let again = relay.client().charge(exhausted()).await;
    assert_eq!(why(&again.expect_err("refused")), unknown());
    let unavailable = || with_code("c", Code::Unavailable);
    let first = relay.client().charge(unavailable()).await;
    assert_eq!(first.expect_err("released").code(), Code::Unavailable);
    relay.client().charge(unavailable()).await.expect("charged");
    relay.client().charge(parcel("d")).await.expect("charged");
    assert_eq!(relay.runs(), 5);
}

pub(crate) async fn the_code_is_that_of_the_trailers_and_the_http_status_is_not_looked_at<
    D: Store,
>() {
    let relay = Relay::<D>::open().await;
    for replayed in [false, true] {
        let served = relay.odd("faulty-but-ok", "a", b"tea").await;
        assert_eq!(
            (served.status, &served.trailers["grpc-status"]),
            (500, &"0".parse().unwrap())
        );
        assert_eq!(served.head.contains_key("idempotent-replayed"), replayed);
    }
    assert_eq!(relay.runs(), 1);
    // A message, and then a refusal.
    for run in 2..=3 {
        let refused = relay.odd("refuses-at-its-end", "b", b"tea").await;
        assert_eq!(
            (refused.status, &refused.trailers["grpc-status"]),
            (200, &"5".parse().unwrap())
        );
        assert_eq!(refused.data.len(), 7);
        assert_eq!(relay.runs(), run);
    }
}

pub(crate) async fn an_answer_without_a_code_leaves_it_open<D: Store>() {
    let relay = Relay::<D>::open().await;
    for how in ["silent", "gateway"] {
        let first = relay.odd(how, how, b"tea").await;
        assert!(!first.trailers.contains_key("grpc-status"), "{how}");
        let again = relay.odd(how, how, b"tea").await;
        assert_eq!(why(&again.status()), unknown(), "{how}");
    }
    assert_eq!(relay.runs(), 2);
    let relay = Relay::<D>::open_for(REPEATABLE, |layer| layer).await;
    for run in 1..=2 {
        relay.odd("silent", "a", b"tea").await;
        assert_eq!(relay.runs(), run);
    }
}

pub(crate) async fn a_recorded_error_is_marked_where_a_client_reads_it<D: Store>() {
    let relay = Relay::<D>::open_with(|layer| layer.keep(|_| Keep::Record)).await;
    for replayed in [false, true] {
        let error = relay.odd("refuses-at-its-end", "a", b"tea").await;
        assert_eq!(error.trailers.contains_key("idempotent-replayed"), replayed);
        assert_eq!(error.head.contains_key("idempotent-replayed"), replayed);
    }
    assert_eq!(relay.runs(), 1);
}
