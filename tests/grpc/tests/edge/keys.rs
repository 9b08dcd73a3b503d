//! Keys that are missing or wrong: each is refused by the name of its metadata, and nothing is done.

use tonic::metadata::MetadataValue;
use tonic::{Code, Request};

use crate::client::{Refused, is_replay, order, refused, send_order, unkeyed};
use crate::shop::Shop;
use idem_tests_grpc::proto::Order;

async fn expect_refused(
    shop: &Shop,
    request: Request<Order>,
    reason: &str,
    field: &str,
    fault: &str,
) {
    let status = send_order(shop, request).await.expect_err("refused");
    let expected = Refused {
        code: Code::InvalidArgument,
        reason: reason.to_owned(),
        retry_after: None,
        violation: Some((field.to_owned(), fault.to_owned())),
    };
    assert_eq!(refused(&status), expected);
}

fn with(names: &[(&'static str, &str)]) -> Request<Order> {
    let mut request = unkeyed("tea");
    for (name, value) in names {
        let metadata = request.metadata_mut();
        metadata.append(*name, value.parse().expect("ASCII"));
    }
    request
}

#[tokio::test]
async fn a_missing_or_wrong_key_is_refused_by_the_name_of_its_metadata() {
    const KEY: &str = "idempotency-key";
    const REPEATED: &str =
        "is given more than once; send one value, in double quotes if it contains a comma";
    let shop = Shop::open().await;
    expect_refused(&shop, unkeyed("tea"), "KEY_MISSING", KEY, "is missing").await;
    let long = "k".repeat(256);
    let rows = [
        (vec![(KEY, "")], KEY, "is empty"),
        (
            vec![(KEY, &*long)],
            KEY,
            "is 256 characters long; the limit is 255",
        ),
        (vec![(KEY, "a"), (KEY, "a")], KEY, REPEATED),
        (vec![(KEY, "a"), (KEY, "b")], KEY, REPEATED),
        (vec![(KEY, "a,b")], KEY, REPEATED),
        (
            vec![("x-idempotency-key", "a")],
            "x-idempotency-key",
            "is not read: send `idempotency-key` instead",
        ),
    ];
    for (names, field, fault) in rows {
        expect_refused(&shop, with(&names), "INVALID", field, fault).await;
    }
    let mut binary = order("a", "tea");
    let value = MetadataValue::from_bytes(b"a");
    binary
        .metadata_mut()
        .insert_bin("idempotency-key-bin", value);
    let fault = "is not read: send `idempotency-key` instead";
    expect_refused(&shop, binary, "INVALID", "idempotency-key-bin", fault).await;
    assert_eq!(shop.count().await, (0, 0));
}

#[tokio::test]
async fn a_wrong_key_is_refused_where_none_is_required() {
    let shop = Shop::open().await;
    for names in [[("idempotency-key", "")], [("x-idempotency-key", "a")]] {
        let status = shop.client().note(with(&names)).await;
        assert_eq!(
            status.expect_err("refused").code(),
            Code::InvalidArgument,
            "{names:?}"
        );
    }
    assert_eq!(shop.count().await, (0, 0));
}

#[tokio::test]
async fn the_longest_key_and_a_quoted_one_are_the_key_of_the_header() {
    let shop = Shop::open().await;
    let long = "k".repeat(255);
    let (quoted, padded) = (format!("\"{long}\""), format!(" {long} "));
    for (value, replayed) in [(&long, false), (&quoted, true), (&padded, true)] {
        let placed = send_order(&shop, order(value, "tea"))
            .await
            .expect("placed");
        assert_eq!(is_replay(placed.metadata()), replayed);
    }
    assert_eq!(shop.count().await, (1, 1));
}
