//! What is too long, does not end, or cannot be read again.

use std::time::Duration;

use tonic::Code;

use crate::refusals::why;
use crate::relay::{REPEATABLE, Relay, Store, parcel};

pub(crate) async fn an_answer_that_cannot_be_recorded_leaves_the_outcome_unknown<D: Store>() {
    // Even where the operation may be repeated: the method has answered, so its effect has happened.
    let relay = Relay::<D>::open_for(REPEATABLE, |layer| {
        layer
            .response_limit(1000)
            .response_timeout(Duration::from_millis(50))
    })
    .await;
    for how in ["large", "endless", "breaks", "compressed"] {
        let first = relay.odd(how, how, b"tea").await.status();
        let expected = (Code::Internal, "RESPONSE_NOT_STORABLE".to_owned());
        assert_eq!(why(&first), expected, "{how}");
        let again = relay.odd(how, how, b"tea").await.status();
        let expected = (Code::FailedPrecondition, "OUTCOME_UNKNOWN".to_owned());
        assert_eq!(why(&again), expected, "{how}");
    }
    assert_eq!(relay.runs(), 4);
}

pub(crate) async fn a_request_over_the_limit_is_refused_and_nothing_is_done<D: Store>() {
    let relay = Relay::<D>::open_with(|layer| layer.request_limit(10)).await;
    let mut long = parcel("a");
    long.get_mut().weight = i64::MAX;
    let refusal = relay.client().charge(long).await.expect_err("refused");
    let expected = (Code::ResourceExhausted, "REQUEST_TOO_LARGE".to_owned());
    assert_eq!(why(&refusal), expected);
    assert_eq!((relay.runs(), relay.records().await), (0, 0));
    let short = relay.client().charge(parcel("a")).await;
    assert_eq!(short.expect("charged").get_ref().run, 1);
}
