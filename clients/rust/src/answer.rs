//! What an answer says of the request.

use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;

/// What a response says of a request with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The effect has happened, or a recorded answer was replayed: the key has done its work.
    Answered,
    /// The same request with the same key should be sent again, later.
    Again,
    /// A refusal that another attempt would not change. The outcome of earlier attempts may still be open.
    Refused,
}

/// The statuses after which the same request may be sent again (RFC 9110, RFC 8470, RFC 6585).
const PASSING: [u16; 7] = [408, 421, 425, 429, 502, 503, 504];

/// The statuses whose meaning depends on the code in their body. 202 is a policy of the server for `in-flight`.
const NAMED_BY_CODE: [u16; 3] = [202, 400, 409];

/// The codes after which the same request should be sent again, with the same key.
const AGAIN: [&str; 2] = ["in-flight", "request-unreadable"];

/// The response header of a replay.
const REPLAYED: &str = "idempotent-replayed";

impl Verdict {
    /// Judges a response by its status, its headers, and the code of its problem document (RFC 9457).
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use idem_client::Verdict;
    ///
    /// let judge = |status| Verdict::of(status, &HeaderMap::new(), b"");
    /// assert_eq!(judge(StatusCode::CREATED), Verdict::Answered);
    /// assert_eq!(judge(StatusCode::SERVICE_UNAVAILABLE), Verdict::Again);
    /// assert_eq!(judge(StatusCode::UNPROCESSABLE_ENTITY), Verdict::Refused);
    /// ```
    pub fn of(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let by_code = NAMED_BY_CODE.contains(&status.as_u16());
        if by_code && code(headers, body).is_some_and(|code| AGAIN.contains(&&*code)) {
            return Self::Again;
        }
        let replayed = headers.get(REPLAYED).is_some_and(|value| value == "true");
        if status.is_success() || replayed {
            return Self::Answered;
        }
        if PASSING.contains(&status.as_u16()) {
            return Self::Again;
        }
        Self::Refused
    }
}

#[derive(Deserialize)]
struct Problem {
    code: Option<String>,
    r#type: Option<String>,
}

/// Returns the code of a problem, or of the answer 202 to a request whose key is in flight. A service may give the problem
/// another `type`, and keeps its `code`.
pub(crate) fn code(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let media = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let media = media.split(';').next()?.trim().to_ascii_lowercase();
    if media != "application/problem+json" && media != "application/json" {
        return None;
    }
    let problem: Problem = serde_json::from_slice(body).ok()?;
    let fragment = |uri: String| uri.rsplit('#').next().map(str::to_owned);
    problem.code.or_else(|| problem.r#type.and_then(fragment))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, StatusCode, header};
    use idem_runtime::http::{CODES, Problem};

    use super::Verdict;

    fn judge(status: u16, headers: &HeaderMap, body: &[u8]) -> Verdict {
        Verdict::of(
            StatusCode::from_u16(status).expect("a status"),
            headers,
            body,
        )
    }

    fn problem() -> HeaderMap {
        let media = HeaderValue::from_static("application/problem+json; charset=utf-8");
        HeaderMap::from_iter([(header::CONTENT_TYPE, media)])
    }

    /// Each code that the server has, with what a client does.
    #[test]
    fn every_code_of_the_server_is_judged() {
        let again = [
            "in-flight",
            "try-again",
            "unavailable",
            "request-unreadable",
        ];
        for (code, status) in CODES {
            let body = Problem::new(code, "title", status, "detail").to_json();
            let expected = if again.contains(&code) {
                Verdict::Again
            } else {
                Verdict::Refused
            };
            assert_eq!(judge(status, &problem(), &body), expected, "{code}");
        }
    }

    #[test]
    fn a_status_is_judged_without_a_body() {
        for status in [408, 421, 425, 429, 502, 503, 504] {
            assert_eq!(
                judge(status, &HeaderMap::new(), b""),
                Verdict::Again,
                "{status}"
            );
        }
        for status in [400, 401, 403, 404, 409, 410, 422, 500, 501, 303, 307] {
            let verdict = judge(status, &HeaderMap::new(), b"");
            assert_eq!(verdict, Verdict::Refused, "{status}");
        }
        for status in [200, 201, 202, 204] {
            let verdict = judge(status, &HeaderMap::new(), b"");
            assert_eq!(verdict, Verdict::Answered, "{status}");
        }
    }

    #[test]
    fn a_code_is_read_from_the_type_where_the_body_has_none() {
        let body = br#"{"type":"https://api.example.com/problems#in-flight"}"#;
        assert_eq!(judge(409, &problem(), body), Verdict::Again);
        assert_eq!(judge(202, &problem(), body), Verdict::Again);
        // Not JSON by its own word, so it is the service's own conflict.
        assert_eq!(judge(409, &HeaderMap::new(), body), Verdict::Refused);
        assert_eq!(judge(409, &problem(), b"not json"), Verdict::Refused);
    }

    #[test]
    fn a_replayed_failure_is_the_answer() {
        let mut headers = problem();
        headers.insert("idempotent-replayed", HeaderValue::from_static("true"));
        assert_eq!(judge(503, &headers, b""), Verdict::Answered);
    }
}
