//! What of a response outlives a policy around it.

use std::convert::Infallible;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use axum::middleware::map_response;
use axum::response::Response as Answer;
use idem_axum::{HttpPolicy, InFlightAnswer, Problem};
use idem_tests::gate::{Gate, GatePoint};
use serde_json::Value;
use tower::{ServiceBuilder, service_fn};
use tower_http::trace::TraceLayer;
use tower_layer::Layer;
use tower_service::Service;

use crate::shop::{Shop, text};
use idem_tests_http::client::{order, problem, send};

/// Policies that change nothing of a mismatch's status or of a key in flight, and one that changes
/// all that it can.
fn policies() -> [HttpPolicy; 4] {
    [
        HttpPolicy::new(),
        HttpPolicy::new().strict(),
        HttpPolicy::new().without_documentation(),
        HttpPolicy::new()
            .mismatch(StatusCode::CONFLICT)
            .in_flight(InFlightAnswer::TooEarly)
            .problem_types("https://api.example.com/problems")
            .documentation("https://developer.example.com/idempotency"),
    ]
}

const SET: [(&str, &str); 5] = [
    ("access-control-allow-origin", "https://shop.example.com"),
    ("x-request-id", "request-7"),
    ("cache-control", "private"),
    ("retry-after", "7"),
    ("set-cookie", "a=b"),
];

/// As layers further in do.
async fn set_headers(mut response: Answer) -> Answer {
    let link = HeaderValue::from_static("</style.css>; rel=\"preload\"");
    response.headers_mut().append(header::LINK, link);
    for (name, value) in SET {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

fn assert_set(headers: &HeaderMap, policy: &HttpPolicy) {
    for (name, value) in SET {
        assert_eq!(text(&headers[name]), value, "{name} under {policy:?}");
    }
    let mut links = headers.get_all("link").iter().map(text);
    assert!(
        links.any(|link| link.contains("preload")),
        "under {policy:?}"
    );
}

#[tokio::test]
async fn headers_that_were_set_inside_a_policy_outlive_it() {
    for policy in policies() {
        let (inner, outer) = (map_response(set_headers), policy.clone());
        let shop = Shop::open_with(|routes| routes.layer(inner).layer(outer)).await;
        let key = format!("edits-{}", shop.port);
        let gate = Gate::at(&key, GatePoint::AfterWrite);
        let first = tokio::spawn(order(&shop, &key, "tea").send());
        gate.entered().await;
        let in_flight = send(order(&shop, &key, "tea")).await;
        gate.open();
        let first = first.await.expect("no panic").expect("an answer");
        let replay = send(order(&shop, &key, "tea")).await;
        let mismatch = send(order(&shop, &key, "coffee")).await;
        for answer in [&in_flight, &first, &replay, &mismatch] {
            assert_set(answer.headers(), &policy);
        }
        assert!(replay.headers().contains_key("idempotent-replayed"));
        let length = text(&mismatch.headers()["content-length"]).to_owned();
        let status = mismatch.status().as_u16();
        let body = mismatch.text().await.expect("a body");
        assert_eq!(body.len().to_string(), length, "under {policy:?}");
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(body["status"], status, "under {policy:?}");
    }
}

#[tokio::test]
async fn a_status_that_was_set_inside_a_policy_outlives_it() {
    for policy in policies() {
        let outer = policy.clone();
        let own = map_response(async |answer: Answer| (StatusCode::IM_A_TEAPOT, answer));
        let shop = Shop::open_with(|routes| routes.layer(own).layer(outer)).await;
        send(order(&shop, "a", "tea")).await;
        let mismatch = send(order(&shop, "a", "coffee")).await;
        assert_eq!(
            mismatch.status(),
            StatusCode::IM_A_TEAPOT,
            "under {policy:?}"
        );
    }
}

#[tokio::test]
async fn a_body_that_was_written_inside_a_policy_outlives_it() {
    const OWN: &str = r#"{"ours":true}"#;
    async fn own(answer: Answer) -> Answer {
        let length = answer.size_hint_exact();
        let (parts, _) = answer.into_parts();
        // Of the same length and type as the library's, so that only its bytes tell.
        Answer::from_parts(parts, Body::from(format!("{OWN:length$}")))
    }
    for policy in policies() {
        let outer = policy.clone();
        let shop = Shop::open_with(|routes| routes.layer(map_response(own)).layer(outer)).await;
        send(order(&shop, "a", "tea")).await;
        let mismatch = send(order(&shop, "a", "coffee")).await;
        let body = mismatch.text().await.expect("a body");
        assert_eq!(body.trim_end(), OWN, "under {policy:?}");
    }
}

trait SizeHintExact {
    fn size_hint_exact(&self) -> usize;
}

impl SizeHintExact for Answer {
    fn size_hint_exact(&self) -> usize {
        let exact = self.body().size_hint().exact().expect("a length");
        usize::try_from(exact).expect("a length")
    }
}

#[tokio::test]
async fn a_body_that_was_encoded_inside_a_policy_outlives_it() {
    async fn encoded(mut answer: Answer) -> Answer {
        let identity = HeaderValue::from_static("x-none");
        answer
            .headers_mut()
            .insert(header::CONTENT_ENCODING, identity);
        answer
    }
    let policy = HttpPolicy::new().problem_types("https://api.example.com/problems");
    let shop = Shop::open_with(|routes| routes.layer(map_response(encoded)).layer(policy)).await;
    send(order(&shop, "a", "tea")).await;
    let mismatch = problem(send(order(&shop, "a", "coffee")).await).await;
    assert!(
        mismatch["type"]
            .as_str()
            .is_some_and(|uri| uri.contains("docs.rs"))
    );
}

#[tokio::test]
async fn a_problem_of_the_services_own_keeps_what_it_says_and_gets_the_rest_by_the_policy() {
    fn own() -> Problem {
        Problem::new(
            "closed",
            "The shop is closed",
            StatusCode::CONFLICT,
            "it is Sunday",
        )
    }
    let policy = HttpPolicy::new()
        .problem_types("https://api.example.com/problems")
        .documentation("https://developer.example.com/idempotency");
    let routes = |bare: bool| {
        move |routes: Router| {
            let said = || async {
                let said = own().with_type("/closed").without_documentation();
                said.with_retry_after(std::time::Duration::from_millis(1500))
            };
            let routes = routes
                .layer(map_response(async |_: Answer| own()))
                .route("/said", axum::routing::get(said));
            if bare { routes } else { routes.layer(policy) }
        }
    };
    let get = async |shop: &Shop, path: &str| -> Value {
        let answer = reqwest::get(format!("{}{path}", shop.url)).await;
        let text = answer.expect("an answer").text().await.expect("a body");
        serde_json::from_str(&text).expect("JSON")
    };
    let bare = Shop::open_with(routes.clone()(true)).await;
    let plain = get(&bare, "/orders").await;
    assert_eq!(
        (&plain["type"], plain.get("documentation")),
        (&"about:blank".into(), None)
    );
    let shop = Shop::open_with(routes(false)).await;
    let plain = get(&shop, "/orders").await;
    assert_eq!(plain["type"], "https://api.example.com/problems#closed");
    assert_eq!(
        plain["documentation"],
        "https://developer.example.com/idempotency"
    );
    let said = get(&shop, "/said").await;
    assert_eq!(
        (&said["type"], &said["retry_after"]),
        (&"/closed".into(), &2.into())
    );
}

#[tokio::test]
async fn a_policy_goes_around_any_service_whatever_the_body_of_its_answer() {
    // What stands between a policy and a router changes the body's type.
    let layers = ServiceBuilder::new()
        .layer(HttpPolicy::new())
        .layer(TraceLayer::new_for_http());
    let shop = Shop::open_with(|routes| routes.layer(layers)).await;
    assert_eq!(
        send(order(&shop, "a", "tea")).await.status(),
        StatusCode::CREATED
    );

    let bodies = service_fn(async |_: Request<()>| {
        Ok::<_, Infallible>(Response::new(http_body_util::Full::new(Bytes::from(
            "full",
        ))))
    });
    let answer = HttpPolicy::new().layer(bodies).call(Request::new(())).await;
    assert_eq!(answer.expect("infallible").status(), StatusCode::OK);
}
