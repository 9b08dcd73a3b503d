//! What a policy can change.

use idem_runtime::IdempotencyKey;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests_http::client::{order, problem, send, tea, text};
use idem_tests_http::{Framework, Shop};
use idem_tower::{HttpPolicy, InFlightAnswer};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

/// The answer to a duplicate of a running request.
async fn duplicate(shop: &Shop, key: &str) -> Response {
    let key = &format!("{key}-{}", shop.port);
    let gate = Gate::at(key, GatePoint::AfterWrite);
    let first = tokio::spawn(order(shop, key, "tea").send());
    gate.entered().await;
    let answer = send(order(shop, key, "tea")).await;
    gate.open();
    assert!(
        first
            .await
            .expect("no panic")
            .expect("an answer")
            .status()
            .is_success()
    );
    answer
}

pub(crate) async fn a_mismatch_may_be_a_conflict<F: Framework>() {
    let shop = Shop::open_under::<F>([HttpPolicy::new().mismatch(StatusCode::CONFLICT)]).await;
    send(order(&shop, "a", "tea")).await;
    let refusal = problem(send(order(&shop, "a", "coffee")).await).await;
    assert_eq!(
        (&refusal["status"], &refusal["code"]),
        (&409.into(), &"mismatch".into())
    );
}

pub(crate) async fn a_mismatch_may_show_where_the_requests_differ_and_shows_no_value<
    F: Framework,
>() {
    let note = |shop: &Shop, item: &str| {
        reqwest::Client::new()
            .post(format!("{}/notes", shop.url))
            .header("idempotency-key", "a")
            .header("x-tenant", "acme")
            .header("content-type", "application/json")
            .body(json!({ "item": item }).to_string())
    };
    for (policy, shown) in [
        (HttpPolicy::new().show_differing(), json!(["/order/item"])),
        (HttpPolicy::new(), Value::Null),
    ] {
        let shop = Shop::open_under::<F>([policy]).await;
        send(note(&shop, "secret tea")).await;
        let refusal = problem(send(note(&shop, "coffee")).await).await;
        assert_eq!(refusal["code"], "mismatch");
        assert_eq!(refusal["differing"], shown);
        let whole = refusal.to_string();
        assert!(!whole.contains("secret") && !whole.contains("coffee"));
    }
    // An order is compared by its hash alone.
    let shop = Shop::open_under::<F>([HttpPolicy::new().show_differing()]).await;
    send(order(&shop, "a", "tea")).await;
    let refusal = problem(send(order(&shop, "a", "coffee")).await).await;
    assert_eq!(refusal["differing"], Value::Null);
}

pub(crate) async fn a_key_in_flight_may_be_too_early<F: Framework>() {
    let shop = Shop::open_under::<F>([HttpPolicy::new().in_flight(InFlightAnswer::TooEarly)]).await;
    let refusal = problem(duplicate(&shop, "too-early").await).await;
    assert_eq!(
        (&refusal["status"], &refusal["code"]),
        (&425.into(), &"in-flight".into())
    );
}

pub(crate) async fn a_key_in_flight_may_be_accepted_with_the_url_of_its_status<F: Framework>() {
    let policy = HttpPolicy::new().in_flight(InFlightAnswer::accepted(|key| {
        format!("/status/{}", key.as_str())
    }));
    let shop = Shop::open_under::<F>([policy]).await;
    let answer = duplicate(&shop, "accepted").await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    let url = format!("/status/accepted-{}", shop.port);
    assert_eq!(text(&answer.headers()["location"]), url);
    assert!(answer.headers().contains_key("retry-after"));
    let body: Value = serde_json::from_str(&answer.text().await.expect("a body")).expect("JSON");
    assert_eq!(body, json!({ "code": "in-flight", "status_url": url }));
}

pub(crate) async fn a_request_that_waits_for_another_key_than_its_own_is_not_accepted<
    F: Framework,
>() {
    let policy = HttpPolicy::new().in_flight(InFlightAnswer::status_at("/operations"));
    let shop = Shop::open_under::<F>([policy]).await;
    let key = format!("batch-{}", shop.port);
    let item = || {
        let headers = [("x-tenant", "acme"), ("idempotency-key", &*key)];
        send(tea(&shop, "/items", &headers))
    };
    let child = key
        .parse::<IdempotencyKey>()
        .and_then(|key| key.child("item"));
    let gate = Gate::at(child.expect("a key").as_str(), GatePoint::AfterWrite);
    let (first, ()) = tokio::join!(item(), async {
        gate.entered().await;
        let refused = item().await;
        // A page of the request's key would say that nothing is known of it.
        assert!(!refused.headers().contains_key("location"));
        let refusal = problem(refused).await;
        assert_eq!(
            (&refusal["status"], &refusal["code"]),
            (&409.into(), &"in-flight".into())
        );
        gate.open();
    });
    assert_eq!(first.status(), StatusCode::OK);
    assert!(item().await.headers().contains_key("idempotent-replayed"));
}

pub(crate) async fn a_status_url_that_no_header_can_hold_is_a_conflict_as_before<F: Framework>() {
    let policy = HttpPolicy::new().in_flight(InFlightAnswer::accepted(|_| "/a\nb".to_owned()));
    let shop = Shop::open_under::<F>([policy]).await;
    assert_eq!(
        problem(duplicate(&shop, "no-url").await).await["status"],
        409
    );
}

pub(crate) async fn types_and_documentation_may_be_ones_own<F: Framework>() {
    let policy = HttpPolicy::new()
        .problem_types("https://api.example.com/problems")
        .documentation("https://developer.example.com/idempotency");
    let shop = Shop::open_under::<F>([policy]).await;
    send(order(&shop, "a", "tea")).await;
    let refusal = problem(send(order(&shop, "a", "coffee")).await).await;
    assert_eq!(refusal["type"], "https://api.example.com/problems#mismatch");
    assert_eq!(
        refusal["documentation"],
        "https://developer.example.com/idempotency"
    );
}

pub(crate) async fn of_two_policies_the_inner_one_counts<F: Framework>() {
    let (inner, outer) = (HttpPolicy::new(), HttpPolicy::new().strict());
    let inner = inner.mismatch(StatusCode::CONFLICT);
    let outer = outer.mismatch(StatusCode::IM_A_TEAPOT);
    let shop = Shop::open_under::<F>([inner, outer]).await;
    send(order(&shop, "a", "tea")).await;
    let refusal = problem(send(order(&shop, "a", "coffee")).await).await;
    assert_eq!(refusal["status"], 409);
    let bare = order(&shop, "b", "tea").header("x-idempotency-key", "b");
    assert_eq!(send(bare).await.status(), StatusCode::CREATED);
}
