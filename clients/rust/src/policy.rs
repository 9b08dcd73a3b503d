//! How often and how long a request is sent, and which requests get a key.

use std::sync::Arc;
use std::time::Duration;

use http::Method;

use crate::clock::{Clock, SystemClock};

/// How often and how long a request with a key is sent, and which methods get a key.
///
/// ```
/// use std::time::Duration;
///
/// use idem_client::RetryPolicy;
///
/// let patient = RetryPolicy::new().attempts(8).total(Duration::from_mins(5));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a policy is given to a middleware or a layer"]
pub struct RetryPolicy {
    pub(crate) attempts: u32,
    pub(crate) total: Duration,
    pub(crate) attempt_timeout: Duration,
    pub(crate) base: Duration,
    pub(crate) cap: Duration,
    pub(crate) answer_limit: usize,
    pub(crate) methods: Option<Vec<Method>>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::new()
    }
}

impl RetryPolicy {
    /// Creates the default policy: 5 attempts in 60 seconds, each of at most 20 seconds.
    pub fn new() -> Self {
        Self {
            attempts: 5,
            total: Duration::from_mins(1),
            attempt_timeout: Duration::from_secs(20),
            base: Duration::from_millis(200),
            cap: Duration::from_secs(10),
            answer_limit: 4 * 1024 * 1024,
            methods: None,
            clock: Arc::new(SystemClock),
        }
    }

    /// Sets how often a request is sent at most; 0 counts as 1. The default is 5.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// Sets how long all attempts and pauses take together at most. The default is 60 seconds. A pause that would end after
    /// it is not begun: so it bounds a `Retry-After` too.
    pub fn total(mut self, time: Duration) -> Self {
        self.total = time;
        self
    }

    /// Sets how long one attempt takes at most, with the answer's body. The default is 20 seconds.
    pub fn attempt_timeout(mut self, time: Duration) -> Self {
        self.attempt_timeout = time;
        self
    }

    /// Sets the pauses: a random time from zero to `base` after the first attempt, doubled with each further one, and at most
    /// `cap` (exponential backoff with full jitter). `Retry-After` comes on top. The defaults are 200 milliseconds and 10
    /// seconds.
    pub fn backoff(mut self, base: Duration, cap: Duration) -> Self {
        self.base = base;
        self.cap = cap;
        self
    }

    /// Sets the most bytes of an answer's body. The default is 4 MiB. The body is read to its end before the answer is
    /// returned, since one that breaks off is no answer; a longer one is [`ClientError::AnswerTooLong`].
    ///
    /// [`ClientError::AnswerTooLong`]: crate::ClientError::AnswerTooLong
    pub fn answer_limit(mut self, bytes: usize) -> Self {
        self.answer_limit = bytes;
        self
    }

    /// Sets the methods that get a key of their own. By default every method that is not safe does.
    ///
    /// PUT and DELETE are among them: HTTP calls them idempotent, but a late retry of a PUT overwrites what was written
    /// since, and a second DELETE is answered 404. A service that does not know the header ignores it. A safe method (GET,
    /// HEAD, OPTIONS, TRACE, QUERY) never gets a key, even if it is named here. A key that the caller brings is sent with
    /// any method that is not safe.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = Some(methods.into_iter().collect());
        self
    }

    /// Sets the clock, for tests.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Returns whether a request of this method gets a key of its own.
    pub(crate) fn marks(&self, method: &Method) -> bool {
        let named = |methods: &Vec<Method>| methods.contains(method);
        !method.is_safe() && self.methods.as_ref().is_none_or(named)
    }
}
