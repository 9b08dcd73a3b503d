//! How long a client goes on, and what it waits for.

use std::error::Error as _;
use std::time::Duration;

use idem_client::{ClientError, Clock, Key, KeyChoice, Pause};
use idem_tests::patience::in_time;
use idem_tests_clients::Town;
use reqwest::StatusCode;

use crate::customer::{Hurried, client, keys, order, policy};

#[tokio::test]
async fn retry_after_of_the_service_and_of_the_proxy_is_waited_for() {
    let town = Town::open().await;
    for status in ["409", "503"] {
        let clock = Hurried::default();
        let client = client(&town, policy(&clock));
        let item = format!("later-{status}");
        let sent = order(&client, &town.url, &item, status).send().await;
        sent.expect("an answer");
        // Half of the first bound of the random pause, on top of it.
        assert_eq!(clock.pauses(), [Duration::from_millis(1100)]);
    }
}

/// Opens a gate as the client begins to wait, which it does because the service refused it.
#[derive(Clone, Debug)]
struct Opening {
    below: Hurried,
    gate: String,
    http: reqwest::Client,
}

impl Clock for Opening {
    fn now(&self) -> std::time::Instant {
        self.below.now()
    }

    fn date(&self) -> std::time::SystemTime {
        self.below.date()
    }

    fn random(&self) -> f64 {
        self.below.random()
    }

    fn pause(&self, time: Duration) -> Pause<'_> {
        Box::pin(async move {
            self.below.pause(time).await;
            let opened = self.http.post(format!("{}/open", self.gate)).send();
            opened.await.expect("an answer");
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_key_is_in_flight_waits_and_gets_the_answer_of_the_first() {
    let town = Town::open().await;
    let key: Key = "held-1".parse().expect("a key");
    let gate = format!("{}/gates/{}", town.url, key.as_str());
    let http = reqwest::Client::new();
    let control = async |what: &str| {
        let sent = http.post(format!("{gate}/{what}")).send().await;
        sent.expect("an answer");
    };
    control("close").await;
    let first = client(&town, policy(&Hurried::default()));
    let held = order(&first, &town.url, "held", "pass");
    let held = held.with_extension(KeyChoice::Use(key.clone()));
    let first = tokio::spawn(held.send());
    control("entered").await;
    let clock = Opening {
        below: Hurried::default(),
        gate: gate.clone(),
        http: http.clone(),
    };
    let second = client(
        &town,
        policy(&clock.below).attempts(1000).clock(clock.clone()),
    );
    let held = order(&second, &town.url, "held", "pass");
    let second = held.with_extension(KeyChoice::Use(key)).send();
    let second = in_time("the second is answered", second).await;
    let second = second.expect("an answer");
    let first = first.await.expect("no panic").expect("an answer");
    assert_eq!(first.status(), StatusCode::CREATED);
    assert_eq!(second.status(), StatusCode::CREATED);
    assert!(second.headers().contains_key("idempotent-replayed"));
    let pauses = clock.below.pauses();
    assert!(pauses[0] >= Duration::from_secs(1), "{pauses:?}");
    assert_eq!(town.effects("held").await, 1);
}

#[tokio::test]
async fn without_an_answer_the_error_has_the_key_with_which_a_later_call_gets_the_result() {
    let town = Town::open().await;
    let twice = client(&town, policy(&Hurried::default()).attempts(2));
    let sent = order(&twice, &town.url, "unanswered", "lost,lost")
        .send()
        .await;
    let error = sent.expect_err("no answer");
    let error = ClientError::of(&error).expect("an error of the client");
    assert!(matches!(error, ClientError::Unanswered { attempts: 2, .. }));
    assert!(error.source().is_some());
    let key = error.key().expect("a key").clone();
    assert!(!format!("{error:?} {error}").contains(key.as_str()));
    let later = order(&twice, &town.url, "unanswered", "lost,lost");
    let later = later.with_extension(KeyChoice::Use(key)).send().await;
    let later = later.expect("an answer");
    assert!(later.headers().contains_key("idempotent-replayed"));
    assert_eq!(keys(&town, "unanswered").len(), 1);
    assert_eq!(town.effects("unanswered").await, 1);
}

#[tokio::test]
async fn the_last_answer_is_returned_when_the_budget_is_used_up() {
    let town = Town::open().await;
    let clock = Hurried::default();
    let three = client(&town, policy(&clock).attempts(3));
    let plan = "503,503,503,503";
    let answer = order(&three, &town.url, "three", plan).send().await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(town.requests("three").len(), 3);
    // One second is asked for, and there is none.
    let short = client(&town, policy(&clock).total(Duration::from_secs(1)));
    let answer = order(&short, &town.url, "short", plan).send().await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(town.requests("short").len(), 1);
}

#[tokio::test]
async fn an_answer_beyond_the_limit_is_refused_with_the_key() {
    let town = Town::open().await;
    let short = client(&town, policy(&Hurried::default()).answer_limit(10));
    let sent = order(&short, &town.url, "long", "pass").send().await;
    let error = sent.expect_err("too long");
    let error = ClientError::of(&error).expect("an error of the client");
    assert!(matches!(
        error,
        ClientError::AnswerTooLong { limit: 10, .. }
    ));
    let key = error.key().expect("a key").clone();
    let later = client(&town, policy(&Hurried::default()));
    let later = order(&later, &town.url, "long", "pass");
    let later = later.with_extension(KeyChoice::Use(key)).send().await;
    assert_eq!(later.expect("an answer").status(), StatusCode::CREATED);
    assert_eq!(town.effects("long").await, 1);
}
