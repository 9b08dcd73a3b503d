//! Bodies whose length is not known before, and bodies that do not come to an end.

use std::time::Duration;

use crate::relay::{Relay, refusal, scoped, send};

/// No test waits as long as this.
const LONG: Duration = Duration::from_hours(1);

#[tokio::test]
async fn a_short_body_of_unknown_length_is_recorded_and_so_is_one_of_no_pieces() {
    let relay = Relay::open_with(|layer| scoped(layer).response_limit(6)).await;
    for (path, body) in [("short", "onetwo"), ("nothing", "")] {
        let first = send(relay.post(path, path)).await;
        assert_eq!((first.0, &first.2[..]), (200, body.as_bytes()));
        assert_eq!(send(relay.post(path, path)).await, first);
    }
    assert_eq!(relay.runs(), 2);
}

async fn assert_refused_and_not_repeated(relay: &Relay, path: &str) {
    let runs = relay.runs();
    let first = refusal(relay.post(path, path)).await;
    assert_eq!(first, (500, "response-not-storable".to_owned()), "{path}");
    let again = refusal(relay.post(path, path)).await;
    assert_eq!(again, (409, "outcome-unknown".to_owned()), "{path}");
    assert_eq!(relay.runs(), runs + 1, "{path}");
}

#[tokio::test]
async fn a_body_that_does_not_end_in_time_is_refused_and_its_effect_is_not_repeated() {
    let layer = |layer| scoped(layer).response_timeout(Duration::from_millis(20));
    assert_refused_and_not_repeated(&Relay::open_with(layer).await, "endless").await;
}

#[tokio::test]
async fn a_body_that_breaks_off_is_refused_and_its_effect_is_not_repeated() {
    let relay = Relay::open().await;
    for path in ["breaks", "shorter"] {
        assert_refused_and_not_repeated(&relay, path).await;
    }
}

#[tokio::test]
async fn a_body_that_says_it_is_over_the_limit_is_not_waited_for() {
    let layer = |layer| scoped(layer).response_limit(4999).response_timeout(LONG);
    assert_refused_and_not_repeated(&Relay::open_with(layer).await, "announced").await;
}
