//! What requests are answered.

use idem_tests::gate::{Gate, GatePoint};
use reqwest::{Client, StatusCode};

use idem_tests_http::client::{order, order_as, problem, send, text};
use idem_tests_http::desk::Placed;
use idem_tests_http::{Framework, Shop};

pub(crate) async fn a_replay_is_the_first_answer_byte_for_byte_and_says_that_it_is_one<
    F: Framework,
>() {
    let shop = Shop::open::<F>().await;
    let first = send(order(&shop, "a", "tea")).await;
    assert_eq!(first.status(), StatusCode::CREATED);
    assert!(!first.headers().contains_key("idempotent-replayed"));
    let again = send(order(&shop, "a", "tea")).await;
    assert_eq!(again.status(), StatusCode::CREATED);
    assert_eq!(text(&again.headers()["idempotent-replayed"]), "true");
    for name in ["location", "etag", "content-type", "content-length"] {
        assert_eq!(first.headers()[name], again.headers()[name], "{name}");
    }
    let (first, again) = (first.bytes().await, again.bytes().await);
    let (first, again) = (first.expect("a body"), again.expect("a body"));
    assert_eq!(first, again);
    let placed: Placed = serde_json::from_slice(&first).expect("an order");
    assert_eq!((placed.number, &*placed.item), (1, "tea"));
    assert_eq!(shop.count().await, (1, 1));
}

pub(crate) async fn a_request_without_a_key_is_refused_where_one_is_required<F: Framework>() {
    let shop = Shop::open::<F>().await;
    let request = Client::new()
        .post(format!("{}/orders", shop.url))
        .header("x-tenant", "acme")
        .header("content-type", "application/json")
        .body(r#"{"item":"tea"}"#);
    let refusal = problem(send(request).await).await;
    assert_eq!(
        (&refusal["status"], &refusal["code"]),
        (&400.into(), &"key-missing".into())
    );
    assert_eq!(refusal["title"], "Idempotency-Key is missing");
    assert_eq!(
        refusal["detail"],
        "POST /orders needs an Idempotency-Key header, and the request has none"
    );
    assert_eq!(shop.count().await, (0, 0));
}

pub(crate) async fn an_optional_key_may_be_absent_but_not_unacceptable<F: Framework>() {
    let shop = Shop::open::<F>().await;
    let note = |key: Option<&'static str>| {
        let request = Client::new()
            .post(format!("{}/notes", shop.url))
            .header("x-tenant", "acme")
            .header("content-type", "application/json")
            .body(r#"{"item":"tea"}"#);
        send(match key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        })
    };
    assert_eq!(note(None).await.status(), StatusCode::OK);
    assert_eq!(note(None).await.status(), StatusCode::OK);
    assert_eq!(shop.count().await, (2, 0));
    assert_eq!(problem(note(Some("")).await).await["code"], "invalid");
    assert_eq!(shop.count().await, (2, 0));
    assert_eq!(note(Some("a")).await.status(), StatusCode::OK);
    assert_eq!(note(Some("a")).await.status(), StatusCode::OK);
    assert_eq!(shop.count().await, (3, 1));
}

pub(crate) async fn a_duplicate_of_a_running_request_is_told_when_to_come_back<F: Framework>() {
    let shop = Shop::open::<F>().await;
    let key = &format!("running-{}", shop.port);
    let gate = Gate::at(key, GatePoint::AfterWrite);
    let first = tokio::spawn(order(&shop, key, "tea").send());
    gate.entered().await;
    let refusal = problem(send(order(&shop, key, "tea")).await).await;
    assert_eq!(
        (&refusal["status"], &refusal["code"]),
        (&409.into(), &"in-flight".into())
    );
    assert!(
        refusal["retry_after"]
            .as_u64()
            .is_some_and(|seconds| seconds >= 1)
    );
    gate.open();
    let first = first.await.expect("no panic").expect("an answer");
    assert_eq!(first.status(), StatusCode::CREATED);
    assert_eq!(
        send(order(&shop, key, "tea")).await.status(),
        StatusCode::CREATED
    );
    assert_eq!(shop.count().await, (1, 1));
}

pub(crate) async fn another_request_under_a_used_key_is_refused_and_shows_nothing_of_the_first<
    F: Framework,
>() {
    let shop = Shop::open::<F>().await;
    send(order(&shop, "used", "secret tea")).await;
    let refusal = problem(send(order(&shop, "used", "coffee")).await).await;
    assert_eq!(
        (&refusal["status"], &refusal["code"]),
        (&422.into(), &"mismatch".into())
    );
    assert_eq!(refusal["title"], "Idempotency-Key is already used");
    assert!(!refusal.to_string().contains("secret"), "{refusal}");
    assert_eq!(shop.count().await, (1, 1));
}

pub(crate) async fn two_tenants_with_one_key_do_not_meet<F: Framework>() {
    let shop = Shop::open::<F>().await;
    let client = Client::new();
    let first = send(order_as(&client, &shop, "acme", "same", "tea")).await;
    let second = send(order_as(&client, &shop, "globex", "same", "coffee")).await;
    assert_eq!(
        (first.status(), second.status()),
        (StatusCode::CREATED, StatusCode::CREATED)
    );
    assert!(!second.headers().contains_key("idempotent-replayed"));
    assert_eq!(shop.count().await, (2, 2));
}

pub(crate) async fn a_key_that_nobody_said_the_owner_of_is_refused_and_the_reason_is_for_the_log<
    F: Framework,
>() {
    let shop = Shop::open::<F>().await;
    let request = Client::new()
        .post(format!("{}/orders", shop.url))
        .header("idempotency-key", "a")
        .header("content-type", "application/json")
        .body(r#"{"item":"tea"}"#);
    let refusal = problem(send(request).await).await;
    assert_eq!(
        (&refusal["status"], &refusal["code"]),
        (&500.into(), &"internal".into())
    );
    assert!(!refusal.to_string().contains("place_order"), "{refusal}");
    assert_eq!(shop.count().await, (0, 0));
}

pub(crate) async fn without_its_store_a_request_is_refused<F: Framework>() {
    let shop = Shop::open::<F>().await;
    shop.pool.close().await;
    let refusal = problem(send(order(&shop, "a", "tea")).await).await;
    assert_eq!(
        (&refusal["status"], &refusal["code"]),
        (&503.into(), &"unavailable".into())
    );
    assert_eq!(refusal["retry_after"], 1);
}

pub(crate) async fn a_body_that_is_refused_at_the_border_leaves_the_key_fresh<F: Framework>() {
    let shop = Shop::open::<F>().await;
    let bad = order(&shop, "a", "tea").body("{");
    assert_eq!(send(bad).await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(shop.count().await, (0, 0));
    assert_eq!(
        send(order(&shop, "a", "tea")).await.status(),
        StatusCode::CREATED
    );
}
