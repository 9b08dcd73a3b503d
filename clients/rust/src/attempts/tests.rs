use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http::{Response, StatusCode};

use super::{Attempts, Next, Outcome};
use crate::clock::{Clock, Pause};
use crate::error::ClientError;
use crate::key::Key;
use crate::policy::RetryPolicy;

/// A clock that a test moves, with a constant in place of chance.
#[derive(Debug)]
struct Moved {
    begun: Instant,
    by: Mutex<Duration>,
    random: f64,
}

impl Clock for Moved {
    fn now(&self) -> Instant {
        self.begun + *self.by.lock().expect("no panic")
    }

    fn date(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn random(&self) -> f64 {
        self.random
    }

    fn pause(&self, time: Duration) -> Pause<'_> {
        *self.by.lock().expect("no panic") += time;
        Box::pin(async {})
    }
}

fn policy(random: f64) -> RetryPolicy {
    RetryPolicy::new().clock(Moved {
        begun: Instant::now(),
        by: Mutex::default(),
        random,
    })
}

fn response(status: u16, headers: &[(&str, &str)]) -> Outcome {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    for (name, value) in headers {
        let name: http::HeaderName = name.parse().expect("a name");
        let value = value.parse().expect("a value");
        response.headers_mut().insert(name, value);
    }
    Outcome::Response(response)
}

fn lost() -> Outcome {
    Outcome::Lost("cut".into())
}

/// Plays outcomes until the end; returns the pauses, and how it ended.
async fn play(
    policy: &RetryPolicy,
    outcomes: impl IntoIterator<Item = Outcome>,
) -> (Vec<Duration>, Result<StatusCode, ClientError>) {
    let mut attempts = Attempts::new(policy, Key::random());
    let mut pauses = Vec::new();
    for outcome in outcomes {
        let outcome = attempts.make(async { outcome }).await;
        match attempts.after(outcome) {
            Next::After(pause) => {
                attempts.wait(pause).await;
                pauses.push(pause);
            }
            Next::Done(end) => return (pauses, end.map(|response| response.status())),
        }
    }
    panic!("the loop wants more outcomes");
}

#[tokio::test]
async fn pauses_double_up_to_the_cap_and_chance_shortens_them() {
    let longest = |random| policy(random).attempts(9).total(Duration::MAX);
    let lost = || std::iter::repeat_with(lost).take(9);
    let (pauses, _) = play(&longest(1.0), lost()).await;
    let millis: Vec<_> = pauses.iter().map(Duration::as_millis).collect();
    assert_eq!(millis, [200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    let (pauses, _) = play(&longest(0.0), lost()).await;
    assert!(pauses.iter().all(Duration::is_zero), "{pauses:?}");
}

#[tokio::test]
async fn retry_after_is_waited_for_before_the_random_pause() {
    let plans = [
        [("retry-after", "7")].as_slice(),
        &[
            ("retry-after", "Sun, 06 Nov 1994 08:49:44 GMT"),
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ],
    ];
    for headers in plans {
        let outcomes = [response(503, headers), response(201, &[])];
        let (pauses, end) = play(&policy(1.0), outcomes).await;
        assert_eq!(pauses, [Duration::from_millis(7200)]);
        assert_eq!(end.expect("a response"), StatusCode::CREATED);
    }
}

#[tokio::test]
async fn a_wait_beyond_the_budget_is_not_begun_and_the_answer_is_returned() {
    for after in ["60", "99999999999999999999999"] {
        let outcome = response(503, &[("retry-after", after)]);
        let (pauses, end) = play(&policy(0.0), [outcome]).await;
        assert!(pauses.is_empty());
        assert_eq!(end.expect("a response"), StatusCode::SERVICE_UNAVAILABLE);
    }
}

#[tokio::test]
async fn the_last_attempt_is_answered_with_what_it_got() {
    let three = || policy(1.0).attempts(3);
    let (pauses, end) = play(&three(), [lost(), response(502, &[]), response(429, &[])]).await;
    assert_eq!(pauses.len(), 2);
    assert_eq!(end.expect("a response"), StatusCode::TOO_MANY_REQUESTS);
    let (_, end) = play(&three(), [response(502, &[]), lost(), lost()]).await;
    let error = end.expect_err("no answer");
    assert!(matches!(error, ClientError::Unanswered { attempts: 3, .. }));
    assert!(error.key().is_some());
}

#[tokio::test]
async fn a_final_answer_ends_the_loop_at_once() {
    for status in [200, 201, 400, 401, 404, 409, 422, 500] {
        let (pauses, end) = play(&policy(1.0), [response(status, &[])]).await;
        assert!(pauses.is_empty());
        assert_eq!(end.expect("a response").as_u16(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_lost() {
    let policy = RetryPolicy::new().attempts(1);
    let mut attempts = Attempts::new(&policy, Key::random());
    let outcome = attempts.make(std::future::pending()).await;
    let Next::Done(Err(ClientError::Unanswered { source, .. })) = attempts.after(outcome) else {
        panic!("it has no answer");
    };
    assert_eq!(source.to_string(), "the attempt took too long");
}
