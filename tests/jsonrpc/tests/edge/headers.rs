//! The header `Idempotency-Key`, for a single call.

use idem_jsonrpc::{MetaNames, Syntax};
use idem_tests_jsonrpc::Shop;
use jsonrpsee::client_transport::ws::{Url, WsTransportClientBuilder};
use jsonrpsee::core::client::ClientBuilder;
use jsonrpsee::core::client::ClientT as _;
use jsonrpsee::core::params::ObjectParams;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::client::{KEY, call, order, parsed, refusal, request, text};

fn keyless() -> Value {
    call("orders.place", None, json!({ "item": "tea" }))
}

#[tokio::test]
async fn curl_orders_with_the_header_and_again_with_the_member() {
    let shop = Shop::open().await;
    let curl = |lines: &'static [&str], body: Value| {
        let mut command = Command::new("curl");
        command.args([
            "--silent",
            "--show-error",
            "--fail",
            "--data",
            &body.to_string(),
        ]);
        for line in ["content-type: application/json", "x-tenant: acme"]
            .iter()
            .chain(lines)
        {
            command.args(["--header", line]);
        }
        command.arg(shop.url());
        async move {
            let output = command.output().await.expect("curl is there");
            assert!(output.status.success(), "{output:?}");
            parsed(&String::from_utf8(output.stdout).expect("text"))
        }
    };
    let first = curl(&[r#"idempotency-key: "8e03978e""#], keyless()).await;
    assert_eq!(first["result"]["number"], 1);
    let again = curl(&[], order("8e03978e", "tea")).await;
    assert_eq!(
        again["result"]["_meta"]["dev.idem/idempotentReplayed"],
        true
    );
    // HTTP/2 is offered, and the request is still one call.
    let offer: &[_] = &[
        "x-idempotency-key: 8e03978e",
        "connection: Upgrade, HTTP2-Settings",
        "upgrade: h2c",
        "http2-settings: AAMAAABkAAQAAP__",
    ];
    let offered = curl(offer, keyless()).await;
    assert_eq!(offered["result"]["number"], 1, "{offered}");
    let bare = curl(&["x-idempotency-key: 8e03978e"], keyless()).await;
    assert_eq!(bare["result"]["number"], 1);
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn header_and_member_must_be_equal() {
    let shop = Shop::open().await;
    let same = request(&shop, &order("a", "tea")).header("idempotency-key", "\"a\"");
    assert_eq!(parsed(&text(same).await)["result"]["number"], 1);
    let other = request(&shop, &order("a", "tea")).header("idempotency-key", "b");
    let refused = parsed(&text(other).await);
    assert_eq!(refusal(&refused), (-32602, "invalid"));
    assert_eq!(
        refused["error"]["data"]["detail"],
        "member `_meta[\"dev.idem/idempotencyKey\"]` differs from header `Idempotency-Key`: send one of the two, or the same value in both"
    );
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_header_that_is_none_is_refused_by_the_rules_of_http() {
    let shop = Shop::open().await;
    for value in ["", "\"a", "a, b"] {
        let refused = request(&shop, &keyless()).header("idempotency-key", value);
        assert_eq!(
            refusal(&parsed(&text(refused).await)),
            (-32602, "invalid"),
            "{value}"
        );
    }
    let strict = Shop::open_with(MetaNames::default(), Syntax::Strict).await;
    for (name, value, code) in [
        ("idempotency-key", "bare", "invalid"),
        ("x-idempotency-key", "\"a\"", "key-missing"),
    ] {
        let note = call("orders.note", None, json!({ "a": 1 }));
        let refused = request(&strict, &note).header(name, value);
        assert_eq!(refusal(&parsed(&text(refused).await)).1, code, "{name}");
    }
    assert_eq!((shop.count().await, strict.count().await), ((0, 0), (0, 0)));
}

#[tokio::test]
async fn a_socket_that_is_opened_with_the_header_has_no_key_for_its_calls() {
    let shop = Shop::open().await;
    let client = async |key: Option<&str>| {
        let mut headers = http::HeaderMap::new();
        headers.insert("x-tenant", "acme".parse().expect("a value"));
        if let Some(key) = key {
            headers.insert("idempotency-key", key.parse().expect("a value"));
        }
        let url = Url::parse(&format!("ws://{}", shop.address)).expect("a URL");
        let socket = WsTransportClientBuilder::default().set_headers(headers);
        let (sender, receiver) = socket.build(url).await.expect("a socket");
        ClientBuilder::default().build_with_tokio(sender, receiver)
    };
    let params = |key: Option<&str>| {
        let mut params = ObjectParams::new();
        params.insert("item", "tea").expect("JSON");
        if let Some(key) = key {
            params.insert("_meta", json!({ KEY: key })).expect("JSON");
        }
        params
    };
    let keyed = client(Some("a")).await;
    for key in [None, Some("a")] {
        let answer = keyed.request::<Value, _>("orders.place", params(key)).await;
        let said = answer.expect_err("a refusal").to_string();
        assert!(said.contains("is for a single call"), "{said}");
    }
    let plain = client(None).await;
    for _ in 0..2 {
        let placed = plain.request::<Value, _>("orders.place", params(Some("a")));
        assert_eq!(placed.await.expect("an answer")["number"], 1);
    }
    assert_eq!(shop.count().await, (1, 1));
}
