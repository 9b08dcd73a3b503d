//! Times, numbers and names as people read them.

use std::time::{Duration, SystemTime};

use idem_runtime::operate::{RecordKey, RecordSummary, StoredStatus};
use idem_runtime::policy::OnLapse;
use idem_runtime::record::Timestamp;
use maud::{Markup, html};

use crate::fields::query;

/// Returns a time, to the second, and how long ago it was.
pub(crate) fn time(at: Timestamp, now: Timestamp) -> Markup {
    let machine = humantime::format_rfc3339_seconds(SystemTime::from(at)).to_string();
    let people = machine.replace('T', " ").replace('Z', "");
    html! {
        time datetime=(machine) { (people) } " " span.ago { "(" (ago(at, now)) ")" }
    }
}

/// Returns a time that may be none.
pub(crate) fn maybe_time(at: Option<Timestamp>, now: Timestamp) -> Markup {
    html! {
        @if let Some(at) = at { (time(at, now)) } @else { span.none { "none" } }
    }
}

/// Returns how long ago a time was, or how far away it is, in its two largest units.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        format!("in {}", span(at.since(now)))
    } else {
        format!("{} ago", span(now.since(at)))
    }
}

/// Returns a duration in its two largest units.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest} s"),
        (0, 0, _) => format!("{minutes} min {rest} s"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// Returns a number with a mark at the thousands.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut marked = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            marked.push(',');
        }
        marked.push(digit);
    }
    marked
}

/// Returns a number that may be cut off at a bound.
pub(crate) fn bounded(count: u64, is_cut: bool) -> String {
    let more = if is_cut { " or more" } else { "" };
    format!("{}{more}", number(count))
}

/// Returns a scope; that of all callers has no text.
pub(crate) fn scope(scope: &str) -> Markup {
    if scope.is_empty() {
        html! { span.none { "all callers" } }
    } else {
        html! { code { (scope) } }
    }
}

/// Returns a status as a mark that does not depend on its colour.
pub(crate) fn status(record: &RecordSummary) -> Markup {
    let (class, name) = if record.is_lapsed() {
        ("bad", "lease lapsed".to_owned())
    } else {
        match record.status {
            StoredStatus::COMPLETED => ("good", "completed".to_owned()),
            StoredStatus::FAILED => ("warn", "failed".to_owned()),
            StoredStatus::IN_PROGRESS => ("live", "in progress".to_owned()),
            StoredStatus::RELEASED => ("calm", "released".to_owned()),
            other => ("bad", other.to_string()),
        }
    };
    html! { span class={ "mark " (class) } { (name) } }
}

/// Returns what the lapse of a lease means.
pub(crate) fn on_lapse(policy: OnLapse) -> &'static str {
    match policy {
        OnLapse::Retry => "the body may run again",
        OnLapse::Unknown => "the outcome becomes unknown",
    }
}

/// Returns the address of a record's page.
pub(crate) fn record_path(key: &RecordKey) -> String {
    let query = query([
        ("namespace", key.namespace()),
        ("scope", key.scope()),
        ("key", key.key()),
    ]);
    format!("/record?{query}")
}

/// Returns the address of a handler's page.
pub(crate) fn handler_path(namespace: &str, operation: &str) -> String {
    let query = query([("namespace", namespace), ("operation", operation)]);
    format!("/handler?{query}")
}

/// Returns what was done, by the word in the address: nothing else that an address says is shown.
pub(crate) fn done(word: &str) -> Option<&'static str> {
    Some(match word {
        "resolved" => "The outcome is resolved.",
        "released" => "The key is released: the next caller runs the body.",
        "deleted" => "The claim without a record is deleted: the key counts as unused.",
        "requeued" => "Requeued: a relay publishes again.",
        "resumed" => "The topic is resumed.",
        _ => return None,
    })
}

/// Returns the notice of what was done.
pub(crate) fn notice(word: &str) -> Markup {
    html! {
        @if let Some(sentence) = done(word) {
            p.done role="status" { (sentence) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_spans_are_read_by_people() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"].map(str::to_owned),
            [0, 999, 1_000, 1_234_567].map(number)
        );
        for (seconds, text) in [
            (7, "7 s"),
            (61, "1 min 1 s"),
            (3_600, "1 h 0 min"),
            (90_000, "1 d 1 h"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), text);
        }
    }
}
