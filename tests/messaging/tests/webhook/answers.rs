//! What the relay is told about an answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use idem_messaging::broker::webhook::{Endpoint, Endpoints, WebhookPublisher};
use idem_messaging::outbox::{OutboxEvent, PublishError, PublishErrorKind};

use super::site::{Planted, Receiver, endpoint, one_of_several, publish, to};

const RETRY: PublishErrorKind = PublishErrorKind::Retry;
const PERMANENT: PublishErrorKind = PublishErrorKind::Permanent;
const UNAVAILABLE: PublishErrorKind = PublishErrorKind::Unavailable;

#[tokio::test]
async fn an_answer_of_2xx_is_a_success_and_each_other_is_a_failure_of_its_kind() {
    for (status, of_one, of_several) in [
        (300, RETRY, RETRY),
        (400, RETRY, RETRY),
        (401, RETRY, RETRY),
        (404, RETRY, RETRY),
        (410, PERMANENT, PERMANENT),
        (413, RETRY, RETRY),
        (429, UNAVAILABLE, RETRY),
        (500, RETRY, RETRY),
        (502, RETRY, RETRY),
        (503, RETRY, RETRY),
        (504, RETRY, RETRY),
    ] {
        let code = StatusCode::from_u16(status).expect("a status");
        let receiver = Receiver::start(move |_| code).await;
        let one = to(receiver.endpoint()).build().expect("a publisher");
        let several = one_of_several(receiver.endpoint())
            .build()
            .expect("a publisher");
        for (answer, kind) in [
            (publish(&one).await, of_one),
            (publish(&several).await, of_several),
        ] {
            let error = answer.expect_err("a failure");
            assert_eq!((error.kind(), error.retry_after()), (kind, None), "{error}");
            assert!(error.to_string().contains(&status.to_string()), "{error}");
        }
    }
    for status in [200, 201, 202, 204, 299] {
        let code = StatusCode::from_u16(status).expect("a status");
        let receiver = Receiver::start(move |_| code).await;
        let publisher = to(receiver.endpoint()).build().expect("a publisher");
        publish(&publisher).await.expect("a success");
    }
}

struct Counting {
    endpoint: Endpoint,
    gone: Arc<AtomicUsize>,
}

impl Endpoints for Counting {
    async fn endpoint(&self, _event: &OutboxEvent) -> Result<Endpoint, PublishError> {
        Ok(self.endpoint.clone())
    }

    async fn gone(&self, _event: &OutboxEvent, endpoint: &Endpoint) {
        assert_eq!(endpoint.url(), self.endpoint.url());
        self.gone.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn the_program_hears_of_an_endpoint_that_is_gone_and_of_no_other() {
    let answers = [StatusCode::NOT_FOUND, StatusCode::GONE, StatusCode::OK];
    let receiver = Receiver::start(move |number| answers[number]).await;
    let gone = Arc::<AtomicUsize>::default();
    let endpoints = Counting {
        endpoint: receiver.endpoint(),
        gone: Arc::clone(&gone),
    };
    let publisher = WebhookPublisher::builder(endpoints)
        .allow_http()
        .allow_network("127.0.0.1")
        .build()
        .expect("a publisher");
    for heard in [0, 1, 1] {
        let _ = publish(&publisher).await;
        assert_eq!(gone.load(Ordering::SeqCst), heard);
    }
}

#[tokio::test]
async fn a_redirect_is_named_and_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Planted::at(([127, 0, 0, 1], 0));
        let target = format!("http://127.0.0.1:{}/new?token=18", elsewhere.port());
        let code = StatusCode::from_u16(status).expect("a status");
        let receiver = Receiver::start(move |_| (code, [("location", target.clone())])).await;
        let publisher = to(receiver.endpoint()).build().expect("a publisher");
        let error = publish(&publisher).await.expect_err("a failure");
        assert_eq!(error.kind(), RETRY);
        let text = error.to_string();
        assert!(text.contains(&status.to_string()), "{text}");
        assert!(
            text.contains(&format!("{}/new`", elsewhere.port())),
            "{text}"
        );
        elsewhere.assert_untouched();
        assert_eq!(receiver.posted().len(), 1);
    }
}

#[tokio::test]
async fn a_retry_after_is_honoured_in_both_of_its_forms_and_bounded() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let two_minutes_later = "Sun, 06 Nov 1994 08:51:37 GMT";
    for (status, asked, seconds) in [
        (429, "120", Some(120)),
        (503, "120", Some(120)),
        (503, two_minutes_later, Some(120)),
        (301, "7", Some(7)),
        (503, "86400", Some(600)),
        (503, "soon", None),
    ] {
        let code = StatusCode::from_u16(status).expect("a status");
        let receiver =
            Receiver::start(move |_| (code, [("retry-after", asked), ("date", date)])).await;
        let publisher = to(receiver.endpoint())
            .longest_wait(Duration::from_mins(10))
            .build()
            .expect("a publisher");
        let error = publish(&publisher).await.expect_err("a failure");
        assert_eq!(
            error.retry_after(),
            seconds.map(Duration::from_secs),
            "{status} {asked}"
        );
    }
}

/// An answer whose body begins with a line, goes on for ever, and as fast as it is read.
fn endless(status: StatusCode) -> Response {
    let beginning = stream::once(async { Bytes::from_static(b"no such case\r\n") });
    let more = stream::repeat(Bytes::from_static(&[b'x'; 4096]));
    let chunks = beginning.chain(more).map(Ok::<_, Infallible>);
    (status, Body::from_stream(chunks)).into_response()
}

/// An answer whose body begins with a line, and then nothing comes.
fn stuck(status: StatusCode) -> Response {
    let beginning = stream::once(async { Bytes::from_static(b"no such case\r\n") });
    let chunks = beginning.chain(stream::pending()).map(Ok::<_, Infallible>);
    (status, Body::from_stream(chunks)).into_response()
}

#[tokio::test]
async fn of_a_body_that_never_ends_an_error_shows_the_beginning_and_a_success_nothing() {
    for body in [endless, stuck] {
        let failing = Receiver::start(move |_| body(StatusCode::BAD_REQUEST)).await;
        let publisher = to(failing.endpoint()).build().expect("a publisher");
        let error = publish(&publisher).await.expect_err("a failure");
        let text = error.to_string();
        assert!(
            text.contains("400") && text.contains("no such case"),
            "{text}"
        );
        assert!(text.len() < 1_000 && !text.contains('\n'), "{text}");

        let taking = Receiver::start(move |_| body(StatusCode::OK)).await;
        let publisher = to(taking.endpoint()).build().expect("a publisher");
        publish(&publisher).await.expect("a success");
    }
}

#[tokio::test]
async fn an_endpoint_that_never_answers_costs_the_time_limit_and_an_attempt() {
    // The kernel accepts, and nobody reads.
    let silent = Planted::at(([127, 0, 0, 1], 0));
    let url = format!("http://127.0.0.1:{}/hooks", silent.port());
    let publisher = to(endpoint(&url))
        .timeout(Duration::from_millis(50))
        .build()
        .expect("a publisher");
    let error = publish(&publisher).await.expect_err("no answer");
    assert_eq!(error.kind(), RETRY);
    assert!(error.to_string().contains("within 50ms"), "{error}");
}

#[tokio::test]
async fn a_receiver_that_cannot_be_reached_stops_its_own_relay_and_none_of_several_does() {
    // Somebody had the port, and nobody has it now.
    let port = Planted::at(([127, 0, 0, 1], 0)).port();
    let endpoint = endpoint(&format!("http://127.0.0.1:{port}/hooks"));
    let one = to(endpoint.clone()).build().expect("a publisher");
    let error = publish(&one).await.expect_err("nobody is there");
    assert_eq!(error.kind(), UNAVAILABLE, "{error}");
    assert!(error.to_string().contains("nothing was sent"), "{error}");
    let several = one_of_several(endpoint).build().expect("a publisher");
    let error = publish(&several).await.expect_err("nobody is there");
    assert_eq!(error.kind(), RETRY, "{error}");
}
