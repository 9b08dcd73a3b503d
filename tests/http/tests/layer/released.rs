//! A key that a run gave back.

use crate::relay::{REPEATABLE, Relay, refusal, scoped, send};

#[tokio::test]
async fn a_released_key_takes_no_other_request_and_no_other_path() {
    let relay = Relay::open_for(REPEATABLE, scoped).await;
    let charge = |body: &'static str| relay.post("fails", "k").body(body);
    assert_eq!(send(charge("10")).await.0, 502);
    for other in [charge("20"), relay.post("order", "k").body("10")] {
        assert_eq!(refusal(other).await, (422, "mismatch".to_owned()));
    }
    assert_eq!(relay.runs(), 1);
    assert_eq!(send(charge("10")).await.0, 200);
    assert_eq!(relay.runs(), 2);
}
