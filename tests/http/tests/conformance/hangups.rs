//! Clients that go away while their handler runs.

use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;
use idem_tests_http::client::{order, order_as, send, text};
use idem_tests_http::{Framework, Shop};
use idem_tower::Detached;
use reqwest::{Client, StatusCode};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

async fn a_client_goes_away<F: Framework>(client: impl Fn() -> Client) {
    let shop = Shop::open::<F>().await;
    for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
        let key = format!("{:?}-{point:?}", shop.port);
        let before = shop.count().await;
        let gate = Gate::at(&key, point);
        let going = tokio::spawn(order_as(&client(), &shop, "acme", &key, "tea").send());
        gate.entered().await;
        going.abort();
        assert!(going.await.is_err_and(|gone| gone.is_cancelled()));
        drop(gate);
        // The server notices in its own time. Until then the key is in flight.
        let answered = async {
            loop {
                let answer = send(order_as(&client(), &shop, "acme", &key, "tea")).await;
                if answer.status() != StatusCode::CONFLICT {
                    break answer;
                }
            }
        };
        let answer = in_time("the key stays in flight", answered).await;
        assert_eq!(answer.status(), StatusCode::CREATED);
        let after = shop.count().await;
        assert_eq!(after, (before.0 + 1, before.1 + 1), "{point:?}");
    }
}

pub(crate) async fn a_client_of_http_1_that_goes_away_leaves_one_effect_after_its_retry<
    F: Framework,
>() {
    a_client_goes_away::<F>(Client::new).await;
}

pub(crate) async fn a_client_of_http_2_that_goes_away_leaves_one_effect_after_its_retry<
    F: Framework,
>() {
    a_client_goes_away::<F>(|| {
        let client = Client::builder().http2_prior_knowledge().build();
        client.expect("a client")
    })
    .await;
}

/// Sends an order of tea on a connection that is reset when it is dropped.
async fn order_on_a_bad_line(shop: &Shop, key: &str) -> TcpStream {
    let mut line = TcpStream::connect(("127.0.0.1", shop.port))
        .await
        .expect("a connection");
    line.set_zero_linger().expect("a socket");
    let body = r#"{"item":"tea"}"#;
    let head = format!(
        "POST /orders HTTP/1.1\r\nhost: shop\r\nx-tenant: acme\r\nidempotency-key: \"{key}\"\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    line.write_all(head.as_bytes()).await.expect("sent");
    line.write_all(body.as_bytes()).await.expect("sent");
    line
}

pub(crate) async fn a_reset_drops_the_handler_and_leaves_nothing<F: Framework>() {
    let shop = Shop::open::<F>().await;
    for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
        let key = format!("reset-{}-{point:?}", shop.port);
        let gate = Gate::at(&key, point);
        let line = order_on_a_bad_line(&shop, &key).await;
        gate.entered().await;
        drop(line);
        in_time("the handler is not dropped", shop.left.notified()).await;
        drop(gate);
        let before = shop.count().await;
        let answered = async {
            loop {
                let answer = send(order(&shop, &key, "tea")).await;
                if answer.status() != StatusCode::CONFLICT {
                    break answer;
                }
            }
        };
        let answer = in_time("the key stays in flight", answered).await;
        assert_eq!(answer.status(), StatusCode::CREATED);
        assert!(!answer.headers().contains_key("idempotent-replayed"));
        let after = shop.count().await;
        assert_eq!(after, (before.0 + 1, before.1 + 1), "{point:?}");
    }
}

pub(crate) async fn a_detached_call_outlasts_a_reset_and_its_retry_is_the_replay<F: Framework>() {
    let detached = Detached::new(4);
    let shop = Shop::open_detached::<F>(&detached).await;
    for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
        let key = format!("detached-{}-{point:?}", shop.port);
        let before = shop.count().await;
        let gate = Gate::at(&key, point);
        let line = order_on_a_bad_line(&shop, &key).await;
        gate.entered().await;
        drop(line);
        in_time("the handler is not dropped", shop.left.notified()).await;
        // Retries meanwhile are told to come back, and disturb nothing.
        for _ in 0..3 {
            let answer = send(order(&shop, &key, "tea")).await;
            assert_eq!(answer.status(), StatusCode::CONFLICT);
        }
        gate.open();
        detached.drain().await;
        let answer = send(order(&shop, &key, "tea")).await;
        assert_eq!(answer.status(), StatusCode::CREATED);
        assert_eq!(text(&answer.headers()["idempotent-replayed"]), "true");
        let after = shop.count().await;
        assert_eq!(after, (before.0 + 1, before.1 + 1), "{point:?}");
    }
}
