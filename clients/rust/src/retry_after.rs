//! `Retry-After` (RFC 9110, section 10.2.3).

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// Returns the time that a response asks to wait, or `None` if it asks for none, or cannot be read. A date is compared with
/// the response's own `Date`, if it has one: so the clocks need not agree.
pub(crate) fn wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit()) {
        // More seconds than a number can hold are too many in any case.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let date = headers.get(DATE).and_then(|date| date.to_str().ok());
    let date = date.and_then(|date| httpdate::parse_http_date(date).ok());
    Some(
        until
            .duration_since(date.unwrap_or(now))
            .unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::wait;

    fn seconds(lines: &[(&'static str, &str)]) -> Option<u64> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let value = HeaderValue::from_str(value).expect("a value");
            headers.insert(HeaderName::from_static(name), value);
        }
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        wait(&headers, now).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_are_read_and_what_is_none_is_left_out() {
        for (text, expected) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
        ] {
            assert_eq!(seconds(&[("retry-after", text)]), expected, "{text:?}");
        }
    }

    #[test]
    fn a_date_counts_from_the_date_of_the_response_or_else_from_this_clock() {
        let until = ("retry-after", "Sun, 06 Nov 1994 08:51:37 GMT");
        assert_eq!(seconds(&[until]), Some(120));
        let date = ("date", "Sun, 06 Nov 1994 08:50:37 GMT");
        assert_eq!(seconds(&[until, date]), Some(60));
        let past = ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT");
        assert_eq!(seconds(&[past]), Some(0));
    }
}
