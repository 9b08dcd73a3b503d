//! Where redirects lead, and where the key does not go.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::any;
use idem_client::ClientError;
use idem_tests_clients::Town;
use tokio::net::TcpListener;

use crate::customer::{Hurried, client, policy};

/// Another origin, which writes down whether a key has come.
async fn stranger() -> (String, Arc<Mutex<Vec<bool>>>) {
    let came: Arc<Mutex<Vec<bool>>> = Arc::default();
    let log = came.clone();
    let answer = async move |headers: HeaderMap| {
        let has_key = headers.contains_key("idempotency-key");
        log.lock().expect("no panic").push(has_key);
        "here"
    };
    let url = serve(Router::new().fallback(any(answer))).await;
    (url, came)
}

async fn serve(app: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
    format!("http://{address}")
}

/// A service that redirects everything with this status to this place.
async fn redirecting(status: StatusCode, to: String) -> String {
    let answer = async move || (status, [(header::LOCATION, to)]);
    serve(Router::new().fallback(any(answer))).await
}

#[tokio::test]
async fn no_redirect_carries_the_key_to_another_origin() {
    let town = Town::open().await;
    let client = client(&town, policy(&Hurried::default()));
    let (other, came) = stranger().await;
    for status in [301, 302, 303, 307, 308] {
        let status = StatusCode::from_u16(status).expect("a status");
        let service = redirecting(status, format!("{other}/orders")).await;
        let sent = client.post(format!("{service}/orders")).send().await;
        let error = sent.expect_err("refused");
        let error = ClientError::of(&error).expect("an error of the client");
        assert!(matches!(error, ClientError::Redirect { .. }), "{status}");
    }
    assert!(came.lock().expect("no panic").is_empty());
}

#[tokio::test]
async fn a_request_without_a_key_is_redirected_anywhere() {
    let town = Town::open().await;
    let client = client(&town, policy(&Hurried::default()));
    let (other, came) = stranger().await;
    let service = redirecting(StatusCode::FOUND, format!("{other}/page")).await;
    let page = client.get(&service).send().await.expect("an answer");
    assert_eq!(page.status(), StatusCode::OK);
    // A header that came with a safe method stays at its origin.
    let page = client.get(&service).header("idempotency-key", "k");
    let page = page.send().await.expect("an answer");
    assert_eq!(page.status(), StatusCode::FOUND);
    assert_eq!(*came.lock().expect("no panic"), [false]);
}

#[tokio::test]
async fn the_policy_alone_keeps_the_key_at_its_origin() {
    let (other, came) = stranger().await;
    let plain = reqwest::Client::builder().redirect(idem_client::redirect_policy());
    let plain = plain.build().expect("a client");
    for status in [307, 303] {
        let status = StatusCode::from_u16(status).expect("a status");
        let service = redirecting(status, format!("{other}/orders")).await;
        let sent = plain.post(&service).header("idempotency-key", "k").send();
        assert_eq!(sent.await.expect("an answer").status(), status);
    }
    assert!(came.lock().expect("no panic").is_empty());
    // What reqwest does by itself, and why the policy is needed.
    let service = redirecting(StatusCode::TEMPORARY_REDIRECT, other).await;
    let sent = reqwest::Client::new().post(&service);
    let sent = sent.header("idempotency-key", "k").send().await;
    assert_eq!(sent.expect("an answer").status(), StatusCode::OK);
    assert_eq!(*came.lock().expect("no panic"), [true]);
}

#[tokio::test]
async fn what_the_page_of_an_answer_says_refuses_no_request() {
    let town = Town::open().await;
    let client = client(&town, policy(&Hurried::default()).attempts(2));
    // The order was accepted; its page is not there yet.
    let accepted = async || (StatusCode::SEE_OTHER, [(header::LOCATION, "/page")]);
    let missing = async || StatusCode::NOT_FOUND;
    let service = Router::new()
        .route("/orders", any(accepted))
        .fallback(any(missing));
    let service = serve(service).await;
    let sent = client.post(format!("{service}/orders")).send().await;
    let error = sent.expect_err("no refusal");
    let error = ClientError::of(&error).expect("an error of the client");
    assert!(
        matches!(error, ClientError::Unanswered { attempts: 2, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_circle_of_redirects_comes_to_an_end() {
    let town = Town::open().await;
    let client = client(&town, policy(&Hurried::default()).attempts(1));
    for status in [303, 307] {
        let status = StatusCode::from_u16(status).expect("a status");
        let service = redirecting(status, "/again".to_owned()).await;
        let sent = client.post(&service).send().await;
        sent.expect_err("an end");
    }
}
