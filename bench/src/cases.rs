//! The cases as data, and the choice among them.

use crate::deed::Deed;
use crate::options::Options;
use crate::server::Path;

/// One row of a table of cases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) deed: Deed,
    pub(crate) path: Path,
    /// The case that it is compared with.
    pub(crate) against: &'static str,
}

const fn case(name: &'static str, deed: Deed, path: Path, against: &'static str) -> Case {
    Case {
        name,
        deed,
        path,
        against,
    }
}

pub(crate) const PLAIN_1: &str = "plain, 1 statement";
pub(crate) const PLAIN_3: &str = "plain, 3 statements";
pub(crate) const SELECT: &str = "one SELECT";
pub(crate) const PAIR: &str = "insert, body, update, each alone";

/// All cases of one call.
pub(crate) const CASES: [Case; 31] = {
    use Path::{Fused, Unfused};
    [
        case(PLAIN_1, Deed::PlainOne, Fused, PLAIN_1),
        case(PLAIN_3, Deed::PlainThree, Fused, PLAIN_3),
        case(SELECT, Deed::Select, Fused, SELECT),
        case("first run, 1 statement, fused", Deed::One, Fused, PLAIN_1),
        case(
            "first run, 1 statement, unfused",
            Deed::One,
            Unfused,
            PLAIN_1,
        ),
        case(
            "first run, 3 statements, fused",
            Deed::Three,
            Fused,
            PLAIN_3,
        ),
        case(
            "first run, 3 statements, unfused",
            Deed::Three,
            Unfused,
            PLAIN_3,
        ),
        case("by hand, fused", Deed::HandFused, Fused, PLAIN_1),
        case("by hand, unfused", Deed::HandUnfused, Unfused, PLAIN_1),
        case("by hand, insert and update", Deed::Textbook, Fused, PLAIN_1),
        case("replay, fused", Deed::Replay, Fused, SELECT),
        case("replay, unfused", Deed::Replay, Unfused, SELECT),
        case(
            "replay, other process, fused",
            Deed::ReplayElsewhere,
            Fused,
            SELECT,
        ),
        case(
            "replay, other process, unfused",
            Deed::ReplayElsewhere,
            Unfused,
            SELECT,
        ),
        case(
            "replay by hand, fused",
            Deed::HandFusedReplay,
            Fused,
            SELECT,
        ),
        case(
            "replay by hand, insert and update",
            Deed::TextbookReplay,
            Fused,
            SELECT,
        ),
        case("in flight, fused", Deed::InFlight, Fused, SELECT),
        case("in flight, unfused", Deed::InFlight, Unfused, SELECT),
        case("mismatch, fused", Deed::Mismatch, Fused, SELECT),
        case("mismatch, unfused", Deed::Mismatch, Unfused, SELECT),
        case(
            "record_request, fused",
            Deed::KeepingRequest,
            Fused,
            PLAIN_1,
        ),
        case(
            "record_request, unfused",
            Deed::KeepingRequest,
            Unfused,
            PLAIN_1,
        ),
        case(
            "failures = \"record\", success, fused",
            Deed::FailuresSuccess,
            Fused,
            PLAIN_1,
        ),
        case(
            "failures = \"record\", success, unfused",
            Deed::FailuresSuccess,
            Unfused,
            PLAIN_1,
        ),
        case(
            "failures = \"record\", failure, fused",
            Deed::FailuresFailure,
            Fused,
            PLAIN_1,
        ),
        case(
            "failures = \"record\", failure, unfused",
            Deed::FailuresFailure,
            Unfused,
            PLAIN_1,
        ),
        case(
            "failures = \"record\", replay, fused",
            Deed::FailuresReplay,
            Fused,
            SELECT,
        ),
        case(
            "failures = \"record\", replay, unfused",
            Deed::FailuresReplay,
            Unfused,
            SELECT,
        ),
        case("caller's transaction", Deed::Caller, Fused, PLAIN_1),
        case(PAIR, Deed::TextbookPair, Fused, PLAIN_1),
        case("lease mode", Deed::Lease, Fused, PAIR),
    ]
};

/// Returns the rows that `--row` chooses, and those that they are compared with; all without `--row`.
/// `names` returns a row's name and that of the row that it is compared with.
pub(crate) fn chosen<T: Copy>(
    options: &Options,
    rows: &[T],
    names: impl Fn(&T) -> (&'static str, &'static str),
) -> Vec<T> {
    let Some(text) = &options.row else {
        return rows.to_vec();
    };
    let find = |wanted: &str| rows.iter().find(|row| names(row).0 == wanted);
    let mut wanted = Vec::new();
    for row in rows.iter().filter(|row| names(row).0.contains(text)) {
        let mut next = Some(row);
        while let Some((name, against)) = next.map(&names) {
            if wanted.contains(&name) {
                break;
            }
            wanted.push(name);
            next = find(against);
        }
    }
    let rows = rows.iter().filter(|row| wanted.contains(&names(row).0));
    rows.copied().collect()
}

/// [`chosen`] among [`CASES`].
pub(crate) fn chosen_cases(options: &Options) -> Vec<Case> {
    chosen(options, &CASES, |case| (case.name, case.against))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(row: Option<&str>) -> Vec<&'static str> {
        let line = row.map(|row| ["--row".to_owned(), row.to_owned()]);
        let options = Options::read(line.into_iter().flatten(), 1, &[]).expect("understood");
        let cases = chosen_cases(&options);
        cases.iter().map(|case| case.name).collect()
    }

    #[test]
    fn a_row_brings_what_it_is_compared_with_and_no_row_brings_all() {
        assert_eq!(names(None), CASES.map(|case| case.name));
        assert_eq!(names(Some("lease")), [PLAIN_1, PAIR, "lease mode"]);
        assert_eq!(
            names(Some("mismatch")),
            [SELECT, "mismatch, fused", "mismatch, unfused"]
        );
        assert!(names(Some("no such case")).is_empty());
    }

    #[test]
    fn each_case_is_compared_with_a_case_before_it_or_with_itself() {
        for (index, case) in CASES.iter().enumerate() {
            let known = &CASES[..=index];
            assert!(
                known.iter().any(|known| known.name == case.against),
                "{}",
                case.name
            );
        }
    }
}
