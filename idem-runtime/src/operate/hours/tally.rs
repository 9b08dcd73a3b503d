//! Adds up what was read.

use super::super::status::StoredStatus;
use super::HourCount;
use super::slices::Slice;
use crate::stores::operate::Cells;

/// The records of each hour, as far as they were read. A record of a slice that was read in part stands for others too.
#[derive(Debug)]
pub(super) struct Tally {
    first: i64,
    hours: Vec<Weighed>,
    /// The records of all hours, those before and after among them.
    all: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Weighed {
    runs: f64,
    failures: f64,
    unknown: f64,
}

impl Tally {
    pub(super) fn new(first: i64, hours: u32) -> Self {
        let hours = usize::try_from(hours).unwrap_or_default();
        Self {
            first,
            hours: vec![Weighed::default(); hours],
            all: 0.0,
        }
    }

    /// Adds rows of hour, status and count, and returns the sum.
    pub(super) fn add_all(&mut self, rows: &[Cells]) -> u64 {
        rows.iter().map(|row| self.add(row, 1.0)).sum()
    }

    /// Adds the first rows of slices. Those that were not read are taken to be as dense.
    pub(super) fn add_sliced(&mut self, rows: &[Cells], slices: &[Slice], limit: usize) {
        for (index, slice) in slices.iter().enumerate() {
            let number = i64::try_from(index).unwrap_or(i64::MAX);
            let own: Vec<_> = rows
                .iter()
                .filter(|row| row.number(3) == Some(number))
                .collect();
            let read: u64 = own.iter().map(|row| count(row)).sum();
            let last = own.iter().filter_map(|row| row.time(4)).max();
            let weight = match last {
                Some(last) if usize::try_from(read).is_ok_and(|read| read >= limit) => {
                    let span = last.as_micros() - slice.begin + 1;
                    float(slice.end - slice.begin) / float(span.max(1))
                }
                _ => 1.0,
            };
            for row in own {
                self.add(row, weight);
            }
        }
    }

    fn add(&mut self, row: &Cells, weight: f64) -> u64 {
        let count = count(row);
        let weighed = float(i64::try_from(count).unwrap_or(i64::MAX)) * weight;
        self.all += weighed;
        let index = row.number(0).map(|hour| hour - self.first);
        let index = index.and_then(|index| usize::try_from(index).ok());
        if let Some(hour) = index.and_then(|index| self.hours.get_mut(index)) {
            let status = row.number(1).and_then(|code| i16::try_from(code).ok());
            hour.runs += weighed;
            if status == Some(StoredStatus::FAILED.code()) {
                hour.failures += weighed;
            }
            if status == Some(StoredStatus::UNKNOWN.code()) {
                hour.unknown += weighed;
            }
        }
        count
    }

    /// Lowers estimates that together are more than all rows of the table: a burst at the beginning of a slice does not
    /// stand for the rest of it.
    pub(super) fn bound(&mut self, rows: i64) {
        let rows = float(rows);
        if rows <= 0.0 || self.all <= rows {
            return;
        }
        let factor = rows / self.all;
        self.all = rows;
        for hour in &mut self.hours {
            hour.runs *= factor;
            hour.failures *= factor;
            hour.unknown *= factor;
        }
    }

    /// Adds another one of the same hours.
    pub(super) fn join(&mut self, other: Self) {
        self.all += other.all;
        for (hour, more) in self.hours.iter_mut().zip(other.hours) {
            hour.runs += more.runs;
            hour.failures += more.failures;
            hour.unknown += more.unknown;
        }
    }

    pub(super) fn into_counts(self) -> Vec<HourCount> {
        let counts = self.hours.into_iter().map(|hour| HourCount {
            runs: whole(hour.runs),
            failures: whole(hour.failures),
            unknown: whole(hour.unknown),
        });
        counts.collect()
    }
}

fn count(row: &Cells) -> u64 {
    row.number(2).map_or(0, i64::unsigned_abs)
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn float(number: i64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count, which is no less than 0"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: [i64; 5]) -> Cells {
        Cells::of(values.map(|value| value.to_string()))
    }

    #[test]
    fn a_slice_that_was_read_in_part_stands_for_the_rest() {
        let slice = Slice {
            begin: 0,
            end: 1_000,
        };
        let mut tally = Tally::new(7, 1);
        // Ten rows in the first tenth of the slice, one of them a failure.
        let rows = [row([7, 1, 9, 0, 99]), row([7, 2, 1, 0, 40])];
        tally.add_sliced(&rows, &[slice], 10);
        let counts = tally.into_counts();
        assert_eq!((counts[0].runs, counts[0].failures), (100, 10));
    }

    #[test]
    fn a_slice_that_was_read_whole_stands_for_itself_and_estimates_have_a_bound() {
        let slice = Slice {
            begin: 0,
            end: 1_000,
        };
        let mut tally = Tally::new(7, 2);
        let rows = [row([7, 1, 9, 0, 99]), row([8, 1, 10, 1, 0])];
        tally.add_sliced(&rows, &[slice, slice], 10);
        // A burst: ten rows at the first microsecond of the second slice.
        assert_eq!(whole(tally.hours[1].runs), 10_000);
        tally.bound(50);
        let counts = tally.into_counts();
        assert!(counts[0].runs + counts[1].runs <= 50, "{counts:?}");
    }
}
