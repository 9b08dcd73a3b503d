//! What becomes of a request by its answer.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response};

use crate::answer::{Verdict, code};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    Answered,
    Refused,
}

/// Returns what an answer makes of its request, or `None` if the request should be sent again.
pub(super) fn settled(response: &Response<Bytes>) -> Option<Settled> {
    let (status, headers) = (response.status(), response.headers());
    match Verdict::of(status, headers, response.body()) {
        // A recorded failure is final, and is a refusal whether its first answer was lost or not.
        Verdict::Answered if !status.is_success() => Some(Settled::Refused),
        Verdict::Answered => Some(Settled::Answered),
        Verdict::Again => None,
        Verdict::Refused => {
            // Credentials are the worker's, and an unknown outcome is found out: neither is the service's last word.
            let is_open = [401, 403, 407].contains(&status.as_u16())
                || code(headers, response.body()).as_deref() == Some("outcome-unknown");
            (status.is_client_error() && !is_open).then_some(Settled::Refused)
        }
    }
}

/// Returns the headers that are text as a JSON array of pairs. Cookies are secrets, and are left out.
pub(super) fn encoded(headers: &HeaderMap) -> String {
    let pairs = headers.iter().filter_map(|(name, value)| {
        let is_secret = name == http::header::SET_COOKIE;
        (!is_secret).then_some((name.as_str(), value.to_str().ok()?))
    });
    // Texts can always be serialized.
    serde_json::to_string(&pairs.collect::<Vec<_>>()).unwrap_or_default()
}

/// Reads a JSON array of pairs.
pub(super) fn decoded(text: &str) -> Option<HeaderMap> {
    let pairs: Vec<(String, String)> = serde_json::from_str(text).ok()?;
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_str(&value).ok()?);
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderValue, Response, StatusCode, header};

    use super::{Settled, decoded, encoded, settled};

    fn response(status: u16, body: &'static str) -> Response<Bytes> {
        let mut response = Response::new(Bytes::from_static(body.as_bytes()));
        *response.status_mut() = StatusCode::from_u16(status).expect("a status");
        let json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }

    #[test]
    fn only_the_last_word_of_a_service_settles_a_request() {
        for status in [200, 201, 204] {
            assert_eq!(settled(&response(status, "")), Some(Settled::Answered));
        }
        for status in [400, 404, 409, 410, 413, 422] {
            assert_eq!(settled(&response(status, "")), Some(Settled::Refused));
        }
        for status in [401, 403, 407, 408, 421, 425, 429, 500, 502, 503, 504, 303] {
            assert_eq!(settled(&response(status, "")), None, "{status}");
        }
        for code in [r#"{"code":"in-flight"}"#, r#"{"code":"outcome-unknown"}"#] {
            assert_eq!(settled(&response(409, code)), None, "{code}");
        }
    }

    #[test]
    fn a_replayed_failure_is_refused_as_its_first_answer_was() {
        let mut answer = response(402, "");
        assert_eq!(settled(&answer), Some(Settled::Refused));
        let replayed = HeaderValue::from_static("true");
        answer.headers_mut().insert("idempotent-replayed", replayed);
        assert_eq!(settled(&answer), Some(Settled::Refused));
        *answer.status_mut() = StatusCode::CREATED;
        assert_eq!(settled(&answer), Some(Settled::Answered));
    }

    #[test]
    fn headers_come_back_without_what_is_secret() {
        let mut response = response(201, "");
        let headers = response.headers_mut();
        headers.append("x-many", HeaderValue::from_static("one"));
        headers.append("x-many", HeaderValue::from_static("two"));
        let expected = headers.clone();
        headers.append(header::SET_COOKIE, HeaderValue::from_static("secret"));
        assert_eq!(decoded(&encoded(headers)), Some(expected));
        assert_eq!(decoded("no json"), None);
    }
}
