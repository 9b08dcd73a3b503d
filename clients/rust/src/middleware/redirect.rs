//! Redirects that do not carry the key away.

use reqwest::Url;
use reqwest::redirect::{Attempt, Policy};

/// The most redirects that are followed, as reqwest's default.
pub(super) const HOPS: usize = 10;

tokio::task_local! {
    /// Is there while a request without a key is under way, in the task that polls it. reqwest does not tell a policy
    /// which request it is asked about.
    static WITHOUT_KEY: ();
}

/// Polls a request that has no key: its redirects may lead anywhere.
pub(super) async fn without_key<F: Future>(request: F) -> F::Output {
    WITHOUT_KEY.scope((), request).await
}

pub(super) fn same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

/// Returns the redirect policy of a client whose requests have keys.
///
/// It follows 307 and 308 on the same origin. It stops at another origin, since reqwest would send the key there, and where
/// the method becomes GET (301, 302, 303), which takes no key. A redirect at which it stops is a response:
/// [`KeyMiddleware`](super::KeyMiddleware) goes on by a GET without the key on the same origin, and refuses another origin.
/// Requests that the middleware sends without a key are redirected as by reqwest's default.
pub fn redirect_policy() -> Policy {
    let default = Policy::default();
    Policy::custom(move |attempt| {
        if WITHOUT_KEY.try_with(|()| ()).is_ok() {
            return default.redirect(attempt);
        }
        if keeps_the_key(&attempt) {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

fn keeps_the_key(attempt: &Attempt<'_>) -> bool {
    let previous = attempt.previous();
    let stays = previous
        .last()
        .is_some_and(|url| same_origin(url, attempt.url()));
    stays && previous.len() <= HOPS && [307, 308].contains(&attempt.status().as_u16())
}
