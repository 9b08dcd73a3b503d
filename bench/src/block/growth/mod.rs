//! Measures how the cost of a call grows: with the records in the table, with the keys in one
//! transaction, with the size of a result, with the tasks that call, and with the part of calls that
//! are duplicates.

mod fill;
mod keys;
mod records;
mod size;
mod tasks;

pub(super) use self::fill::Order;
use super::Bench;
use crate::Fault;
use crate::cases::chosen;
use crate::report::Report;

/// What the cost may grow with. `--row` chooses among these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    Records,
    Keys,
    Size,
    Tasks,
    Duplicates,
}

const GROWTHS: [(&str, Growth); 5] = [
    ("records in the table", Growth::Records),
    ("keys in one transaction", Growth::Keys),
    ("size of the result", Growth::Size),
    ("tasks", Growth::Tasks),
    ("duplicates", Growth::Duplicates),
];

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let mut report = Report::of("growth");
    for (_, growth) in chosen(bench.options, &GROWTHS, |&(name, _)| (name, name)) {
        match growth {
            Growth::Records => records::run(&mut bench, &mut report).await?,
            Growth::Keys => keys::run(&mut bench, &mut report).await?,
            Growth::Size => size::run(&mut bench, &mut report).await?,
            Growth::Tasks => tasks::run(&mut bench, &mut report).await?,
            Growth::Duplicates => tasks::duplicates(&mut bench, &mut report).await?,
        }
    }
    Ok(report)
}
