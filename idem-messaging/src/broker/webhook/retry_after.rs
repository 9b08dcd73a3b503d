//! `Retry-After` (RFC 9110, section 10.2.3).

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Returns the time to wait that a response asks for, and at most `longest`. Returns `None` if it asks for none, or cannot be
/// read. A date is compared with the response's own `Date`, if it has one: so the clocks need not agree.
pub(super) fn wait(headers: &HeaderMap, longest: Duration) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit()) {
        // More seconds than a number can hold are too many in any case.
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(longest));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let date = headers.get(DATE).and_then(|date| date.to_str().ok());
    let now = date
        .and_then(|date| httpdate::parse_http_date(date).ok())
        .unwrap_or_else(SystemTime::now);
    Some(until.duration_since(now).unwrap_or_default().min(longest))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::wait;

    fn seconds(lines: &[(&'static str, &str)]) -> Option<u64> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let value = HeaderValue::from_str(value).expect("a value");
            headers.insert(HeaderName::from_static(name), value);
        }
        wait(&headers, Duration::from_hours(1)).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_are_read_and_bounded() {
        for (text, expected) in [
            ("0", Some(0)),
            ("120", Some(120)),
            (" 120 ", Some(120)),
            ("3601", Some(3600)),
            ("99999999999999999999999", Some(3600)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("soon", None),
        ] {
            assert_eq!(seconds(&[("retry-after", text)]), expected, "{text:?}");
        }
        assert_eq!(seconds(&[]), None);
    }

    #[test]
    fn a_date_counts_from_the_date_of_the_response_and_is_bounded() {
        let now = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (until, expected) in [
            ("Sun, 06 Nov 1994 08:51:37 GMT", 120),
            ("Sunday, 06-Nov-94 08:51:37 GMT", 120),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
            ("Mon, 07 Nov 1994 08:49:37 GMT", 3600),
        ] {
            let lines = [("retry-after", until), ("date", now)];
            assert_eq!(seconds(&lines), Some(expected), "{until}");
        }
    }

    #[test]
    fn a_date_without_another_counts_from_this_clock() {
        let past = [("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")];
        assert_eq!(seconds(&past), Some(0));
        let future = [("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")];
        assert_eq!(seconds(&future), Some(3600));
    }
}
