//! Times as people and programs read them.

use std::time::{Duration, SystemTime};

use idem_runtime::record::Timestamp;
use serde_json::{Value, json};

/// Returns a time in UTC, to the second.
pub(crate) fn time(at: Timestamp) -> String {
    humantime::format_rfc3339_seconds(SystemTime::from(at)).to_string()
}

/// Returns a time in UTC, to the microsecond, or null.
pub(crate) fn json_time(at: Option<Timestamp>) -> Value {
    match at {
        Some(at) => json!(humantime::format_rfc3339_micros(SystemTime::from(at)).to_string()),
        None => Value::Null,
    }
}

/// Returns how long ago a time was, or how far away it is, in its two largest units.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        format!("in {}", rounded(at.since(now)))
    } else {
        format!("{} ago", rounded(now.since(at)))
    }
}

fn rounded(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest}s"),
        (0, 0, _) => format!("{minutes}m {rest}s"),
        (0, _, _) => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_by_its_two_largest_units() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        assert_eq!(ago(at(10), at(10)), "0s ago");
        assert_eq!(ago(at(10), at(75)), "1m 5s ago");
        assert_eq!(ago(at(10), at(3_610)), "1h 0m ago");
        assert_eq!(ago(at(0), at(90_000)), "1d 1h ago");
        assert_eq!(ago(at(100), at(40)), "in 1m 0s");
    }
}
