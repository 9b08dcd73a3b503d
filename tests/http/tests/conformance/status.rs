//! The resource that says what has become of a key.

use idem_tests::gate::{Gate, GatePoint};
use idem_tests_http::client::{order, problem, send, tea, text};
use idem_tests_http::{Framework, Shop};
use idem_tower::{HttpPolicy, InFlightAnswer};
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// Asks at this path, with the key in the header.
async fn query_as(shop: &Shop, tenant: &str, path: &str, key: &str) -> Response {
    let request = Client::new()
        .get(format!("{}{path}", shop.url))
        .header("x-tenant", tenant)
        .header("idempotency-key", format!("\"{key}\""));
    send(request).await
}

/// The status and the document.
async fn document(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    assert_eq!(text(&response.headers()["cache-control"]), "no-store");
    assert_eq!(
        text(&response.headers()["content-type"]),
        "application/json"
    );
    let body: Value =
        serde_json::from_slice(&response.bytes().await.expect("a body")).expect("JSON");
    (status, body)
}

async fn state(shop: &Shop, path: &str, key: &str) -> (u16, Value) {
    document(query_as(shop, "acme", path, key).await).await
}

pub(crate) async fn a_key_is_not_known_then_running_then_done<F: Framework>() {
    let shop = Shop::open::<F>().await;
    let key = format!("status-{}", shop.port);
    let not_known = (404, json!({ "state": "not-known" }));
    assert_eq!(state(&shop, "/operations", &key).await, not_known);
    let gate = Gate::at(&key, GatePoint::AfterWrite);
    let first = tokio::spawn(order(&shop, &key, "secret tea").send());
    gate.entered().await;
    for path in ["/operations", "/results"] {
        let running = query_as(&shop, "acme", path, &key).await;
        assert_eq!(text(&running.headers()["retry-after"]), "1");
        let expected = json!({ "state": "running", "retry_after": 1 });
        assert_eq!(document(running).await, (200, expected));
    }
    gate.open();
    first.await.expect("no panic").expect("an answer");
    let done = query_as(&shop, "acme", "/operations", &key).await;
    assert!(!done.headers().contains_key("retry-after"));
    assert_eq!(document(done).await, (200, json!({ "state": "done" })));
    let result = json!({ "number": 1, "item": "secret tea" });
    let shown = json!({ "state": "done", "result": result });
    assert_eq!(state(&shop, "/results", &key).await, (200, shown));
    // Nobody has run anything by that.
    assert_eq!(shop.count().await, (1, 1));
}

pub(crate) async fn a_failure_is_failed_and_no_payload_is_shown_unless_the_authoriser_says_so<
    F: Framework,
>() {
    let shop = Shop::open::<F>().await;
    let headers = [("x-tenant", "acme"), ("idempotency-key", "a")];
    assert_eq!(send(tea(&shop, "/declined", &headers)).await.status(), 410);
    let failed = state(&shop, "/operations", "a").await;
    assert_eq!(failed, (200, json!({ "state": "failed" })));
    let (status, shown) = state(&shop, "/results", "a").await;
    assert_eq!((status, &shown["state"]), (200, &json!("failed")));
    assert_eq!(shown["failure"]["class"], "SoldOut");
    assert_eq!(shown["failure"]["message"], "no tea today");
}

pub(crate) async fn nobody_is_told_of_a_key_that_is_not_theirs<F: Framework>() {
    let shop = Shop::open::<F>().await;
    send(order(&shop, "a", "tea")).await;
    let other = document(query_as(&shop, "globex", "/results", "a").await).await;
    assert_eq!(other, (404, json!({ "state": "not-known" })));
    let mut refusals = Vec::new();
    for key in ["a", "never used"] {
        let request = Client::new()
            .get(format!("{}/operations", shop.url))
            .header("idempotency-key", format!("\"{key}\""));
        let refusal = send(request).await;
        assert_eq!(refusal.status(), 403);
        assert_eq!(text(&refusal.headers()["cache-control"]), "no-store");
        refusals.push(refusal.text().await.expect("a body"));
    }
    assert!(refusals[0] == refusals[1] && refusals[0].contains("no-tenant"));
}

pub(crate) async fn every_key_is_found_where_the_answer_to_its_duplicate_points<F: Framework>() {
    // Gates are named by their keys, which cannot be made unique here.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());
    let _turn = ONE_AT_A_TIME.lock().await;
    let at = HttpPolicy::new().in_flight(InFlightAnswer::status_at("/operations"));
    let shop = Shop::open_under::<F>([at]).await;
    for key in [
        "plain",
        ".",
        "..",
        "a/../b",
        "a b+c",
        "%2F&key=x#y?z",
        "=&=",
    ] {
        let gate = Gate::at(key, GatePoint::AfterWrite);
        let first = tokio::spawn(order(&shop, key, "tea").send());
        gate.entered().await;
        let accepted = send(order(&shop, key, "tea")).await;
        assert_eq!(accepted.status(), 202, "{key}");
        let location = text(&accepted.headers()["location"]).to_owned();
        let query = || {
            let request = Client::new().get(format!("{}{location}", shop.url));
            send(request.header("x-tenant", "acme"))
        };
        let (status, running) = document(query().await).await;
        assert_eq!(
            (status, &running["state"]),
            (200, &json!("running")),
            "{location}"
        );
        gate.open();
        first.await.expect("no panic").expect("an answer");
        assert_eq!(
            document(query().await).await,
            (200, json!({ "state": "done" })),
            "{location}"
        );
    }
}

pub(crate) async fn what_names_no_one_key_is_refused<F: Framework>() {
    let shop = Shop::open::<F>().await;
    for (query, code) in [
        ("", "key-missing"),
        ("?key=", "invalid"),
        ("?key=a&key=b", "invalid"),
        ("?key=a%0Ab", "invalid"),
    ] {
        let request = Client::new()
            .get(format!("{}/operations{query}", shop.url))
            .header("x-tenant", "acme");
        let refusal = problem(send(request).await).await;
        assert_eq!(
            (&refusal["status"], &refusal["code"]),
            (&json!(400), &json!(code)),
            "{query}"
        );
    }
    // The query counts before the header.
    send(order(&shop, "a", "tea")).await;
    let found = state(&shop, "/operations?key=a", "b").await;
    assert_eq!(found, (200, json!({ "state": "done" })));
    shop.pool.close().await;
    let unavailable = problem(query_as(&shop, "acme", "/operations", "a").await).await;
    assert_eq!(
        (&unavailable["status"], &unavailable["retry_after"]),
        (&json!(503), &json!(1))
    );
}

pub(crate) async fn a_strict_policy_holds_for_the_status<F: Framework>() {
    let shop = Shop::open_under::<F>([HttpPolicy::new().strict()]).await;
    send(order(&shop, "a", "tea")).await;
    let bare = Client::new()
        .get(format!("{}/operations", shop.url))
        .header("x-tenant", "acme")
        .header("idempotency-key", "a");
    let refusal = problem(send(bare).await).await;
    assert_eq!(
        (&refusal["status"], &refusal["code"]),
        (&json!(400), &json!("invalid"))
    );
    let found = state(&shop, "/operations", "a").await;
    assert_eq!(found, (200, json!({ "state": "done" })));
}

pub(crate) async fn a_status_is_read_and_nothing_else<F: Framework>() {
    let shop = Shop::open::<F>().await;
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        let request = Client::new()
            .request(method, format!("{}/operations?key=a", shop.url))
            .header("x-tenant", "acme");
        assert_eq!(send(request).await.status(), 405);
    }
    assert_eq!(shop.count().await, (0, 0));
}
