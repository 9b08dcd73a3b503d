//! Where the records of the last hours are found: by the ends of their retentions.

use std::collections::{BTreeMap, BTreeSet};

use super::super::read::{ended, last_expiry};
use super::HOUR;
use crate::stores::operate::{Cells, Dialect};
use crate::values::record::Timestamp;

/// The most retentions that are looked at: those that are met most.
const RETENTIONS: usize = 8;

/// The points at which retentions are looked for.
const PROBES: u32 = 48;

/// The rows that are read at each of them.
const PROBED: u32 = 8;

/// Slices in an hour.
const QUARTERS: i64 = 4;

/// The rows that all slices may have together.
const BUDGET: usize = 20_000;

/// The slices of one statement.
const AT_ONCE: usize = 32;

/// A range of ends of retentions, in microseconds: `begin <= expires_at < end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) begin: i64,
    pub(super) end: i64,
}

/// What is read.
#[derive(Debug)]
pub(super) struct Slices {
    all: Vec<Slice>,
    /// The most rows that are read of each slice.
    pub(super) limit: usize,
}

/// Returns the statement that finds records by which the retentions in use are known: at points that lie the closer, the
/// nearer the end of a retention is.
pub(super) fn probes(dialect: &Dialect, table: &str, now: Timestamp, begin: i64) -> String {
    let last = last_expiry(now);
    let condition = ended(dialect, last);
    let cells = [
        dialect.time_cell("created_at"),
        dialect.time_cell("expires_at"),
    ]
    .join(", ");
    // From a minute to 10 years.
    let points = (0..PROBES).scan(60_000_000_i64, |step, _| {
        let point = begin.saturating_add(*step);
        *step = step.saturating_mul(4) / 3;
        Some(point)
    });
    let mut parts: Vec<_> = points
        .map(|point| {
            let point = dialect.time(Timestamp::from_micros(point));
            format!("{condition} AND expires_at >= {point} ORDER BY expires_at")
        })
        .collect();
    parts.push(format!("{condition} ORDER BY expires_at DESC"));
    let parts = parts.iter().enumerate().map(|(index, part)| {
        format!(
            "SELECT {cells} FROM (SELECT created_at, expires_at FROM {table} WHERE {part} LIMIT {PROBED}) AS p{index}"
        )
    });
    parts.collect::<Vec<_>>().join(" UNION ALL ")
}

/// Returns the retentions that are met most, in whole hours.
pub(super) fn retentions(rows: &[Cells]) -> BTreeSet<i64> {
    let mut counted = BTreeMap::<i64, u32>::new();
    for row in rows {
        if let (Some(created), Some(expires)) = (row.time(0), row.time(1)) {
            let hours = (expires.as_micros() - created.as_micros()).div_euclid(HOUR);
            *counted.entry(hours.max(0)).or_default() += 1;
        }
    }
    let mut counted: Vec<_> = counted.into_iter().collect();
    counted.sort_by_key(|&(hours, times)| (std::cmp::Reverse(times), hours));
    counted
        .into_iter()
        .take(RETENTIONS)
        .map(|(hours, _)| hours)
        .collect()
}

/// Returns the slices in which the records of `hours` hours expire.
pub(super) fn slices(retentions: &BTreeSet<i64>, first: i64, hours: u32) -> Slices {
    let written = first..first + i64::from(hours);
    let cells: BTreeSet<_> = retentions
        .iter()
        // What was written late in an hour may expire in the next.
        .flat_map(|retention| {
            written
                .clone()
                .flat_map(move |hour| [hour + retention, hour + retention + 1])
        })
        .collect();
    let all: Vec<_> = cells
        .into_iter()
        .flat_map(|hour| {
            (0..QUARTERS).map(move |quarter| {
                let begin = hour * HOUR + quarter * (HOUR / QUARTERS);
                Slice {
                    begin,
                    end: begin + HOUR / QUARTERS,
                }
            })
        })
        .collect();
    let limit = (BUDGET / all.len().max(1)).clamp(16, 400);
    Slices { all, limit }
}

impl Slices {
    /// Returns the slices of one statement after another.
    pub(super) fn groups(&self) -> impl Iterator<Item = &[Slice]> {
        self.all.chunks(AT_ONCE)
    }

    /// Returns the statement that counts the first rows of each slice by hour and status, with the last end of a retention
    /// among them.
    pub(super) fn statement(&self, dialect: &Dialect, table: &str, some: &[Slice]) -> String {
        let parts = some.iter().enumerate().map(|(index, slice)| {
            let time = |at| dialect.time(Timestamp::from_micros(at));
            format!(
                "SELECT {}, {}, {}, {}, {} FROM (SELECT {} AS written, status, expires_at FROM {table} WHERE {} \
                 AND expires_at >= {} ORDER BY expires_at LIMIT {}) AS s{index} GROUP BY written, status",
                dialect.number_cell("written"),
                dialect.number_cell("status"),
                dialect.number_cell("count(*)"),
                dialect.number_cell(&index.to_string()),
                dialect.time_cell("max(expires_at)"),
                dialect.hour("created_at"),
                ended(dialect, Timestamp::from_micros(slice.end - 1)),
                time(slice.begin),
                self.limit,
            )
        });
        parts.collect::<Vec<_>>().join(" UNION ALL ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slices_of_two_retentions_that_touch_are_read_once() {
        let slices = slices(&BTreeSet::from([24, 25]), 100, 2);
        // Written in hours 100 and 101: kept to the end of hours 124 to 127.
        assert_eq!(slices.all.len(), 4 * 4);
        assert_eq!(slices.all[0].begin, 124 * HOUR);
        assert_eq!(slices.all.last().expect("one").end, 128 * HOUR);
        assert!(slices.all.windows(2).all(|two| two[0].end == two[1].begin));
    }
}
