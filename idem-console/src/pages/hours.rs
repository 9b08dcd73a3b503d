//! The runs of each hour, as a table with bars.

use std::time::SystemTime;

use idem_runtime::operate::{HourCount, Hours};
use idem_runtime::record::Timestamp;
use maud::{Markup, html};

use super::listing::table;
use super::text::number;

/// The width of the longest bar.
const WIDTH: u64 = 100;

const HOUR_MICROS: i64 = 3_600_000_000;

/// Returns the table of the hours, the newest first.
pub(crate) fn hours(hours: &Hours) -> Markup {
    let most = hours.counts.iter().map(|count| count.runs).max();
    let most = most.unwrap_or_default().max(1);
    let about = if hours.is_estimate { "≈ " } else { "" };
    let unknown =
        |count: u64| html! { @if count == 0 { "0" } @else { strong { (number(count)) } } };
    let rows: Vec<_> = hours
        .counts
        .iter()
        .enumerate()
        .rev()
        .map(|(place, count)| {
            let place = i64::try_from(place).unwrap_or_default();
            let begin = Timestamp::from_micros(hours.begin.as_micros() + place * HOUR_MICROS);
            let begin = humantime::format_rfc3339_seconds(SystemTime::from(begin)).to_string();
            let (day, hour) = (&begin[5..10], &begin[11..16]);
            vec![
                html! { time datetime=(begin) { span.ago { (day) } " " (hour) } },
                html! { (bar(count, most)) },
                html! { (about) (number(count.runs)) },
                html! { (about) (number(count.failures)) },
                unknown(count.unknown),
            ]
        })
        .collect();
    let heads = ["Hour, UTC", "", "Runs", "Failures", "Unknown"];
    html! {
        div.hours { (table("Records that are kept, by the hour in which they were written", &heads, &rows)) }
        p.hint {
            @if hours.is_estimate {
                "Runs and failures are estimates (≈), made from a part of the records, through the index on the ends of \
                 retentions. Unknown outcomes are counted"
                @if hours.is_cut { ", the newest 10,000" }
                ". "
            } @else {
                "Every record is counted. "
            }
            "What a purge has deleted since is not among them; replays and conflicts write no record."
        }
    }
}

/// A bar of the runs, with the part that failed. It repeats the numbers beside it.
fn bar(count: &HourCount, most: u64) -> Markup {
    let width = |part: u64| part.saturating_mul(WIDTH).div_ceil(most).min(WIDTH);
    let (runs, failures) = (width(count.runs), width(count.failures));
    html! {
        svg.bar viewBox={ "0 0 " (WIDTH) " 8" } preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            rect.runs x="0" y="0" height="8" width=(runs) {}
            rect.failures x="0" y="0" height="8" width=(failures) {}
        }
    }
}
