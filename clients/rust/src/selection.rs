//! Which key a request has: the caller's, a new one, or none.

use http::{HeaderMap, HeaderValue, Method};

use crate::key::{IDEMPOTENCY_KEY, Key, KeyError};
use crate::policy::RetryPolicy;

/// What a caller says about the key of one request, as an extension of it.
///
/// Without it a header that the request has is kept, and any other request whose method is not safe gets a new key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyChoice {
    /// Sends this key: that of an intent which began earlier, and may have been sent already.
    Use(Key),
    /// Sends no key, not even one that the request has as a header, and sends the request once.
    Omit,
}

/// The key of a logical request, as an extension of it: a middleware above that sends the request again finds it there.
#[cfg(feature = "reqwest")]
#[derive(Clone, Debug)]
pub(crate) struct LogicalKey {
    key: Key,
    method: Method,
    url: reqwest::Url,
}

#[cfg(feature = "reqwest")]
impl LogicalKey {
    pub(crate) fn of(key: &Key, request: &reqwest::Request) -> Self {
        Self {
            key: key.clone(),
            method: request.method().clone(),
            url: request.url().clone(),
        }
    }

    /// Returns the key if that was this request. A middleware above may send others with the same extensions, such as one
    /// for a token, to another origin.
    pub(crate) fn of_again(&self, request: &reqwest::Request) -> Option<&Key> {
        let is_it = self.method == *request.method() && self.url == *request.url();
        is_it.then_some(&self.key)
    }
}

/// The key that a request goes with, and the value of its header.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    pub(crate) key: Key,
    pub(crate) value: HeaderValue,
}

/// Returns the key of a request, or `None` if it has none.
pub(crate) fn select(
    policy: &RetryPolicy,
    method: &Method,
    headers: &HeaderMap,
    choice: Option<&KeyChoice>,
    logical: Option<&Key>,
) -> Result<Option<Selected>, KeyError> {
    let of = |key: Key| {
        let value = key.to_header();
        Some(Selected { key, value })
    };
    match choice {
        Some(KeyChoice::Omit) => return Ok(None),
        Some(KeyChoice::Use(_)) if method.is_safe() => {
            let method = method.clone();
            return Err(KeyError::SafeMethod { method });
        }
        Some(KeyChoice::Use(key)) => return Ok(of(key.clone())),
        None => {}
    }
    if method.is_safe() {
        return Ok(None);
    }
    if let Some(key) = Key::of_headers(headers)? {
        // As the caller wrote it: a service may know it with or without quotes.
        let value = headers.get(IDEMPOTENCY_KEY).cloned();
        let value = value.unwrap_or_else(|| key.to_header());
        return Ok(Some(Selected { key, value }));
    }
    if let Some(key) = logical {
        return Ok(of(key.clone()));
    }
    Ok(policy.marks(method).then(Key::random).and_then(of))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, Method};

    use super::{KeyChoice, select};
    use crate::key::{IDEMPOTENCY_KEY, Key, KeyError};
    use crate::policy::RetryPolicy;

    fn key(text: &str) -> Key {
        text.parse().expect("a key")
    }

    fn selected(method: &Method, headers: &HeaderMap, choice: Option<&KeyChoice>) -> Option<Key> {
        let selected = select(&RetryPolicy::new(), method, headers, choice, None);
        selected.expect("no refusal").map(|selected| selected.key)
    }

    #[test]
    fn exactly_the_methods_with_an_effect_get_a_key() {
        let none = HeaderMap::new();
        for method in [Method::POST, Method::PATCH, Method::PUT, Method::DELETE] {
            assert!(selected(&method, &none, None).is_some(), "{method}");
        }
        for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE] {
            assert!(selected(&method, &none, None).is_none(), "{method}");
            let policy = RetryPolicy::new().methods([method.clone()]);
            let selected = select(&policy, &method, &none, None, None).expect("no refusal");
            assert!(selected.is_none(), "{method}");
        }
        let posts = RetryPolicy::new().methods([Method::POST]);
        let unlisted = select(&posts, &Method::PUT, &none, None, None);
        assert!(unlisted.expect("no refusal").is_none());
    }

    #[test]
    fn the_callers_key_is_kept_and_his_choice_comes_first() {
        let mut headers = HeaderMap::new();
        headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_static("bare"));
        let post = Method::POST;
        assert_eq!(selected(&post, &headers, None), Some(key("bare")));
        let chosen = KeyChoice::Use(key("chosen"));
        let found = selected(&post, &headers, Some(&chosen));
        assert_eq!(found, Some(key("chosen")));
        let omitted = selected(&post, &HeaderMap::new(), Some(&KeyChoice::Omit));
        assert_eq!(omitted, None);
        let logical = key("before");
        let policy = RetryPolicy::new();
        let again = select(&policy, &post, &HeaderMap::new(), None, Some(&logical));
        assert_eq!(
            again.expect("no refusal").map(|it| it.key),
            Some(key("before"))
        );
    }

    #[test]
    fn a_key_for_a_safe_method_is_refused() {
        let choice = KeyChoice::Use(key("k"));
        let policy = RetryPolicy::new();
        let refused = select(
            &policy,
            &Method::GET,
            &HeaderMap::new(),
            Some(&choice),
            None,
        );
        let method = Method::GET;
        assert_eq!(refused.map(|_| ()), Err(KeyError::SafeMethod { method }));
    }
}
