//! Keys and scopes: the rules are those of a handler.

use http::{HeaderMap, Method};
use idem_tonic::layer::IdempotencyLayer;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Request};

use crate::refusals::{Refused, is_replay, refused, why};
use crate::relay::{CHARGE, Relay, Store, parcel, unkeyed};
use crate::wire;

const KEY: &str = "idempotency-key";

pub(crate) async fn a_missing_or_wrong_key_is_refused_as_by_a_handler<D: Store>() {
    const REPEATED: &str =
        "is given more than once; send one value, in double quotes if it contains a comma";
    const NOT_READ: &str = "is not read: send `idempotency-key` instead";
    let relay = Relay::<D>::open().await;
    let with = |change: &dyn Fn(&mut MetadataMap)| {
        let mut request = unkeyed();
        change(request.metadata_mut());
        request
    };
    let values = |name: &'static str, values: &[&str]| {
        with(&|metadata| {
            for value in values {
                metadata.append(name, value.parse().expect("ASCII"));
            }
        })
    };
    let binary = with(&|metadata| {
        let value = MetadataValue::from_bytes(b"a");
        metadata.insert_bin("idempotency-key-bin", value);
    });
    let rows: [(Request<_>, &str, &str, &str); 6] = [
        (unkeyed(), "KEY_MISSING", KEY, "is missing"),
        (values(KEY, &[""]), "INVALID", KEY, "is empty"),
        (values(KEY, &["a", "a"]), "INVALID", KEY, REPEATED),
        (values(KEY, &["a,b"]), "INVALID", KEY, REPEATED),
        (binary, "INVALID", "idempotency-key-bin", NOT_READ),
        (
            values("x-idempotency-key", &["a"]),
            "INVALID",
            "x-idempotency-key",
            NOT_READ,
        ),
    ];
    for (request, reason, field, fault) in rows {
        let refusal = relay.client().charge(request).await.expect_err("refused");
        let expected = Refused {
            code: Code::InvalidArgument,
            reason: reason.to_owned(),
            retry_after: None,
            violation: Some((field.to_owned(), fault.to_owned())),
        };
        assert_eq!(refused(&refusal), expected);
    }
    assert_eq!((relay.runs(), relay.records().await), (0, 0));
}

pub(crate) async fn where_a_key_is_optional_a_call_without_one_passes<D: Store>() {
    let relay = Relay::<D>::open_with(IdempotencyLayer::optional_key).await;
    for run in 1..=2 {
        let charged = relay.client().charge(unkeyed()).await.expect("charged");
        assert_eq!(charged.get_ref().run, run);
    }
    let mut wrong = unkeyed();
    let metadata = wrong.metadata_mut();
    metadata.insert("x-idempotency-key", "a".parse().expect("ASCII"));
    let refusal = relay.client().charge(wrong).await.expect_err("refused");
    assert_eq!(refusal.code(), Code::InvalidArgument);
    for replayed in [false, true] {
        let charged = relay.client().charge(parcel("a")).await.expect("charged");
        assert_eq!(is_replay(charged.metadata()), replayed);
    }
    assert_eq!((relay.runs(), relay.records().await), (3, 1));
}

pub(crate) async fn two_tenants_with_one_key_have_two_effects_and_nobody_is_refused<D: Store>() {
    let relay = Relay::<D>::open().await;
    for replayed in [false, true] {
        for (tenant, run) in [("acme", 1), ("globex", 2)] {
            let mut request = parcel("a");
            let metadata = request.metadata_mut();
            metadata.insert("x-tenant", tenant.parse().expect("ASCII"));
            let charged = relay.client().charge(request).await.expect("charged");
            assert_eq!(charged.get_ref().run, run);
            assert_eq!(is_replay(charged.metadata()), replayed);
        }
    }
    let mut nobody = parcel("a");
    nobody.metadata_mut().remove("x-tenant");
    let refusal = relay.client().charge(nobody).await.expect_err("refused");
    assert_eq!(why(&refusal), (Code::Internal, "INTERNAL".to_owned()));
    assert_eq!((relay.runs(), relay.records().await), (2, 2));
}

pub(crate) async fn a_method_that_is_not_covered_is_called_each_time<D: Store>() {
    let relay = Relay::<D>::open_with(|layer| layer.methods([CHARGE])).await;
    for run in 1..=2 {
        // Without a key, and with one.
        let weighed = relay.client().weigh(unkeyed()).await.expect("weighed");
        assert_eq!(weighed.get_ref().run, run * 2 - 1);
        let weighed = relay.client().weigh(parcel("a")).await.expect("weighed");
        assert_eq!(weighed.get_ref().run, run * 2);
    }
    for replayed in [false, true] {
        let charged = relay.client().charge(parcel("a")).await.expect("charged");
        assert_eq!(is_replay(charged.metadata()), replayed);
    }
    assert_eq!((relay.runs(), relay.records().await), (5, 1));
}

/// gRPC has only POST, and tonic's servers call the method for any other too.
pub(crate) async fn the_http_method_leads_past_no_key<D: Store>() {
    let relay = Relay::<D>::open().await;
    let by_put = || {
        let mut call = wire::call("whole", "a", b"tea");
        *call.method_mut() = Method::PUT;
        call
    };
    let first = relay.send(by_put()).await;
    let again = relay.send(by_put()).await;
    assert!(!first.head.contains_key("idempotent-replayed"));
    assert_eq!(again.head["idempotent-replayed"], "true");
    assert_eq!(again.data, first.data);
    let mut unkeyed = by_put();
    unkeyed.headers_mut().remove(KEY);
    let refusal = relay.send(unkeyed).await.status();
    assert_eq!(
        why(&refusal),
        (Code::InvalidArgument, "KEY_MISSING".to_owned())
    );
    assert_eq!(relay.records().await, 1);
}

/// "Trailers-Only" in *gRPC over HTTP2*.
pub(crate) async fn a_refusal_is_a_head_of_trailers_alone<D: Store>() {
    let relay = Relay::<D>::open().await;
    relay.odd("whole", "a", b"tea").await;
    let refusal = relay.odd("whole", "a", b"coffee").await;
    assert_eq!((refusal.status, refusal.data.len()), (200, 0));
    assert_eq!(refusal.trailers, HeaderMap::new());
    assert_eq!(refusal.head["content-type"], "application/grpc");
    assert_eq!(refusal.head["grpc-status"], "9");
    assert_eq!(refusal.head["grpc-retry-pushback-ms"], "-1");
    for name in ["grpc-message", "grpc-status-details-bin"] {
        assert!(refusal.head.contains_key(name), "{name}");
    }
    let expected = (Code::FailedPrecondition, "MISMATCH".to_owned());
    assert_eq!(why(&refusal.status()), expected);
}

pub(crate) async fn the_owner_of_the_service_changes_its_refusals<D: Store>() {
    let relay = Relay::<D>::open_with(|layer| {
        layer.refusals(|refusal| match &*refusal.problem().code {
            "key-missing" => refusal.with_code(Code::FailedPrecondition),
            _ => refusal,
        })
    })
    .await;
    let refusal = relay.client().charge(unkeyed()).await;
    let refusal = refusal.expect_err("refused");
    let expected = (Code::FailedPrecondition, "KEY_MISSING".to_owned());
    assert_eq!(why(&refusal), expected);
}
