//! The attempts of one logical request: what follows from the answer of each.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Response;

use crate::answer::Verdict;
use crate::error::{BoxError, ClientError};
use crate::key::Key;
use crate::policy::RetryPolicy;
use crate::retry_after;

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// With a response, whose body has been read to its end.
    Response(Response<Bytes>),
    /// Without an answer: nobody knows whether the request arrived.
    Lost(BoxError),
    /// With something that another attempt would not change.
    Stopped(ClientError),
}

/// What to do after an attempt.
#[derive(Debug)]
pub(crate) enum Next {
    /// Wait so long, and send the same request.
    After(Duration),
    /// Return this.
    Done(Result<Response<Bytes>, ClientError>),
}

/// The attempts of one logical request.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    policy: &'a RetryPolicy,
    key: Key,
    begun: Instant,
    made: u32,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(policy: &'a RetryPolicy, key: Key) -> Self {
        let begun = policy.clock.now();
        Self {
            policy,
            key,
            begun,
            made: 0,
        }
    }

    /// Makes an attempt, and ends it at the policy's time.
    pub(crate) async fn make(&mut self, attempt: impl Future<Output = Outcome>) -> Outcome {
        self.made += 1;
        let left = self.policy.total.saturating_sub(self.elapsed());
        // Zero would end the attempt before it is sent.
        let time = left
            .min(self.policy.attempt_timeout)
            .max(Duration::from_millis(1));
        match tokio::time::timeout(time, attempt).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::Lost("the attempt took too long".into()),
        }
    }

    /// Decides what follows from an attempt.
    pub(crate) fn after(&self, outcome: Outcome) -> Next {
        let asked = match &outcome {
            Outcome::Stopped(_) => None,
            Outcome::Lost(_) => Some(Duration::ZERO),
            Outcome::Response(response) => {
                let (status, headers) = (response.status(), response.headers());
                let again = Verdict::of(status, headers, response.body()) == Verdict::Again;
                let wait = || retry_after::wait(headers, self.policy.clock.date());
                again.then(|| wait().unwrap_or_default())
            }
        };
        match asked.and_then(|asked| self.pause(asked)) {
            Some(pause) => Next::After(pause),
            None => Next::Done(self.end(outcome)),
        }
    }

    /// Waits.
    pub(crate) async fn wait(&self, pause: Duration) {
        self.policy.clock.pause(pause).await;
    }

    /// Returns the pause before the next attempt, or `None` if the budget has no room for it.
    fn pause(&self, asked: Duration) -> Option<Duration> {
        if self.made >= self.policy.attempts {
            return None;
        }
        let doubled = 2_u32.saturating_pow(self.made.saturating_sub(1));
        let bound = self.policy.base.saturating_mul(doubled);
        let random = self.policy.clock.random().clamp(0.0, 1.0);
        let pause = asked.saturating_add(bound.min(self.policy.cap).mul_f64(random));
        (self.elapsed().saturating_add(pause) < self.policy.total).then_some(pause)
    }

    fn elapsed(&self) -> Duration {
        let now = self.policy.clock.now();
        now.saturating_duration_since(self.begun)
    }

    fn end(&self, outcome: Outcome) -> Result<Response<Bytes>, ClientError> {
        match outcome {
            Outcome::Response(response) => Ok(response),
            Outcome::Stopped(error) => Err(error),
            Outcome::Lost(source) => Err(ClientError::Unanswered {
                key: self.key.clone(),
                attempts: self.made,
                source,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
