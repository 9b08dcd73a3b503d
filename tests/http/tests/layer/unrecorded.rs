//! What no record can keep, of headers and of what a client asks for.

use reqwest::Method;

use crate::relay::{Relay, refusal, send};

#[tokio::test]
async fn headers_over_the_limit_are_refused_and_their_effect_is_not_repeated() {
    let relay = Relay::open().await;
    let first = refusal(relay.post("bulky", "a")).await;
    assert_eq!(first, (500, "response-not-storable".to_owned()));
    let again = refusal(relay.post("bulky", "a")).await;
    assert_eq!(again, (409, "outcome-unknown".to_owned()));
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn the_service_is_not_asked_for_what_no_record_can_keep() {
    let relay = Relay::open().await;
    for (path, plain) in [("compresses", "plain"), ("switches", "not switched")] {
        for _ in 0..2 {
            let request = relay
                .request(Method::POST, path)
                .header("idempotency-key", path);
            let request = request
                .header("accept-encoding", "gzip")
                .header("connection", "upgrade")
                .header("upgrade", "h2c");
            let answer = send(request).await;
            assert_eq!((answer.0, &answer.2[..]), (200, plain.as_bytes()));
        }
    }
    assert_eq!(relay.runs(), 2);
}
