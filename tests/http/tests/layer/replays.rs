//! What is replayed, and for whom.

use reqwest::Method;

use crate::relay::{Relay, refusal, scoped, send};

#[tokio::test]
async fn a_replay_is_the_whole_response_but_for_what_belongs_to_the_moment() {
    let relay = Relay::open().await;
    let first = relay.post("order", "a").body("tea").send().await;
    let again = relay.post("order", "a").body("tea").send().await;
    let (first, again) = (first.expect("an answer"), again.expect("an answer"));
    assert_eq!(
        (first.status(), again.status()),
        (201.try_into().unwrap(), first.status())
    );
    for name in ["location", "etag", "content-type", "content-length"] {
        assert_eq!(first.headers()[name], again.headers()[name], "{name}");
    }
    for name in ["set-cookie", "x-quota"] {
        assert!(first.headers().contains_key(name), "{name}");
        assert!(!again.headers().contains_key(name), "{name}");
    }
    assert!(!first.headers().contains_key("idempotent-replayed"));
    assert_eq!(again.headers()["idempotent-replayed"], "true");
    assert_eq!(first.bytes().await.unwrap(), again.bytes().await.unwrap());
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn bodies_that_are_no_text_or_nothing_come_back_byte_for_byte() {
    let relay = Relay::open().await;
    for (path, status) in [("bytes", 200), ("empty", 204)] {
        let first = send(relay.post(path, path)).await;
        assert_eq!(first.0, status);
        assert_eq!(send(relay.post(path, path)).await, first);
    }
    assert_eq!(relay.runs(), 2);
}

#[tokio::test]
async fn only_methods_that_are_asked_for_a_key_have_one() {
    let relay = Relay::open().await;
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let keyed = relay
            .request(method, "again")
            .header("idempotency-key", "a");
        assert_eq!(send(keyed).await.0, 200);
    }
    assert_eq!(relay.runs(), 3);
    for method in [Method::POST, Method::PATCH] {
        let bare = refusal(relay.request(method, "again")).await;
        assert_eq!(bare, (400, "key-missing".to_owned()));
    }
    assert_eq!(
        refusal(relay.post("again", "a,b")).await,
        (400, "invalid".to_owned())
    );
    assert_eq!(relay.runs(), 3);
}

#[tokio::test]
async fn where_a_key_is_optional_a_request_without_one_passes() {
    let relay = Relay::open_with(|layer| scoped(layer).optional_key()).await;
    for run in 1..=2 {
        assert_eq!(send(relay.request(Method::POST, "again")).await.0, 200);
        assert_eq!(relay.runs(), run);
    }
    assert_eq!(
        refusal(relay.post("again", "")).await,
        (400, "invalid".to_owned())
    );
}

#[tokio::test]
async fn what_differs_in_path_query_type_or_body_is_another_request() {
    let relay = Relay::open().await;
    let json = |path: &str, body: &'static str| {
        let request = relay
            .post(path, "a")
            .header("content-type", "application/json");
        request.body(body)
    };
    assert_eq!(send(json("order?x=1", r#"{"a":1,"b":2}"#)).await.0, 201);
    // The same value, written otherwise.
    assert_eq!(
        send(json("order?x=1", r#"{ "b": 2.0, "a": 1 }"#)).await.0,
        201
    );
    let others = [
        json("again?x=1", r#"{"a":1,"b":2}"#),
        json("order?x=2", r#"{"a":1,"b":2}"#),
        json("order?x=1", r#"{"a":1,"b":3}"#),
        relay
            .post("order?x=1", "a")
            .header("content-type", "text/plain")
            .body(r#"{"a":1,"b":2}"#),
    ];
    for other in others {
        assert_eq!(refusal(other).await, (422, "mismatch".to_owned()));
    }
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn under_a_nested_router_the_whole_path_is_compared() {
    let relay = Relay::open().await;
    assert_eq!(send(relay.post("accounts/1/again", "a")).await.2, "1");
    assert_eq!(send(relay.post("accounts/1/again", "a")).await.2, "1");
    let other = refusal(relay.post("accounts/2/again", "a")).await;
    assert_eq!(other, (422, "mismatch".to_owned()));
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn a_response_that_says_where_the_result_is_is_recorded() {
    let relay = Relay::open().await;
    let elsewhere = || async {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let request = relay.post("elsewhere", "a").build().expect("a request");
        let answer = client
            .build()
            .expect("a client")
            .execute(request)
            .await
            .expect("an answer");
        (
            answer.status().as_u16(),
            answer.headers()["location"].clone(),
        )
    };
    let first = elsewhere().await;
    assert_eq!(first.0, 303);
    assert_eq!(elsewhere().await, first);
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn two_tenants_with_one_key_do_not_meet_and_nobody_is_refused() {
    let relay = Relay::open().await;
    assert_eq!(send(relay.post("again", "a")).await.2, "1");
    let client = reqwest::Client::new();
    let url = relay
        .request(Method::POST, "again")
        .build()
        .expect("a request")
        .url()
        .clone();
    let globex = client.post(url.clone()).header("x-tenant", "globex");
    assert_eq!(send(globex.header("idempotency-key", "a")).await.2, "2");
    let nobody = client.post(url).header("idempotency-key", "a");
    assert_eq!(refusal(nobody).await, (500, "internal".to_owned()));
    assert_eq!(relay.runs(), 2);
}

#[tokio::test]
async fn a_global_layer_has_one_scope_for_all() {
    let relay = Relay::open_with(idem_tower::layer::Unscoped::global).await;
    assert_eq!(send(relay.post("again", "a")).await.2, "1");
    assert_eq!(
        send(relay.post("again", "a").header("x-other", "globex"))
            .await
            .2,
        "1"
    );
}

#[tokio::test]
async fn whoever_may_not_see_a_recorded_response_is_not_shown_it() {
    let layer = |layer| {
        scoped(layer).authorize_replay(|request| !request.headers.contains_key("x-revoked"))
    };
    let relay = Relay::open_with(layer).await;
    assert_eq!(send(relay.post("again", "a")).await.0, 200);
    let revoked = relay.post("again", "a").header("x-revoked", "yes");
    assert_eq!(refusal(revoked).await, (403, "replay-forbidden".to_owned()));
    assert_eq!(send(relay.post("again", "a")).await.0, 200);
}

#[tokio::test]
async fn a_replayed_response_is_edited_for_who_gets_it_and_a_first_one_is_not() {
    let layer = |layer| {
        scoped(layer).on_replay(|request, mut response| {
            if request.headers.contains_key("x-guest") {
                *response.body_mut() = "not for guests".into();
            }
            response
        })
    };
    let relay = Relay::open_with(layer).await;
    for (guest, body) in [
        (true, "1"),
        (false, "1"),
        (true, "not for guests"),
        (false, "1"),
    ] {
        let mut request = relay.post("again", "a");
        if guest {
            request = request.header("x-guest", "yes");
        }
        let (status, _, found) = send(request).await;
        assert_eq!((status, &*found), (200, body.as_bytes()));
    }
    assert_eq!(relay.runs(), 1);
}
