//! What every client of ours is held against: one table of faults, and random plans of them.

use serde::Serialize;

/// One intent, and how it must end.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Case {
    /// The item that is ordered, and the name under which the proxy writes the requests down.
    pub item: &'static str,
    /// What becomes of the requests.
    pub plan: &'static str,
    /// How the call ends.
    pub end: End,
    /// How many connections are cut in the middle of their handshake before. Such a case is for TLS only.
    pub handshakes: usize,
}

/// How a call ends. There is one key in every case, and one effect, unless the redirect is refused before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// 201, by the run of the body.
    Placed,
    /// 201, by a replay.
    Replayed,
    /// 200 of the page that a redirect leads to, which was asked without the key.
    Followed,
    /// An error: the redirect leads to another origin. There is no effect, and one request.
    Refused,
}

const fn case(item: &'static str, plan: &'static str, end: End) -> Case {
    Case {
        item,
        plan,
        end,
        handshakes: 0,
    }
}

/// The table.
pub const CASES: [Case; 20] = [
    case("no-fault", "pass", End::Placed),
    case("lost", "lost", End::Replayed),
    case("unsent", "unsent", End::Placed),
    case("half", "half", End::Replayed),
    case("half-chunked", "half-chunked", End::Replayed),
    case("in-flight", "409", End::Placed),
    case("misdirected", "421", End::Placed),
    case("early", "425", End::Placed),
    case("many", "429", End::Placed),
    case("unavailable", "503", End::Placed),
    case("timeout", "408", End::Placed),
    case("bad-gateway", "502-after", End::Replayed),
    case("late-gateway", "504-after", End::Replayed),
    case("lost-thrice", "lost,lost,lost", End::Replayed),
    case(
        "all",
        "unsent,503,lost,409,half,502-after,half-chunked,421",
        End::Replayed,
    ),
    case("kept", "kept-307,lost,kept-308", End::Replayed),
    case("moved", "moved-303", End::Followed),
    case("moved-lost", "lost,moved-302", End::Followed),
    case("away", "away-307", End::Refused),
    Case {
        handshakes: 2,
        ..case("handshake", "lost", End::Replayed)
    },
];

/// The faults of the random plans. Each may follow each.
const FAULTS: [&str; 11] = [
    "pass",
    "lost",
    "unsent",
    "half",
    "half-chunked",
    "409",
    "421",
    "503",
    "502-after",
    "504-after",
    "kept-307",
];

/// Returns so many random plans, of at most four faults: always the same ones for a seed.
pub fn plans(seed: u64, calls: usize) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut plan = || {
        let faults = random.usize(..5);
        let faults: Vec<_> = (0..faults).filter_map(|_| random.choice(FAULTS)).collect();
        if faults.is_empty() {
            "pass".to_owned()
        } else {
            faults.join(",")
        }
    };
    (0..calls).map(|_| plan()).collect()
}

/// Returns how many calls a long run makes, and from which seed: `IDEM_CLIENT_CALLS` and `IDEM_CLIENT_SEED`.
///
/// # Panics
///
/// Panics if a variable is no number.
pub fn run() -> (usize, u64) {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let calls = usize::try_from(number("IDEM_CLIENT_CALLS", 500)).expect("a number of calls");
    (calls, number("IDEM_CLIENT_SEED", 1))
}

#[cfg(test)]
mod tests {
    use super::{CASES, FAULTS, plans};
    use crate::fault::Fault;

    #[test]
    fn every_plan_is_one_that_the_proxy_knows_and_a_seed_makes_the_same_ones() {
        let all = plans(7, 200);
        assert_eq!(all, plans(7, 200));
        assert_ne!(all, plans(8, 200));
        let known = |plan: &str| Fault::plan(plan).is_ok();
        assert!(all.iter().all(|plan| known(plan)));
        assert!(CASES.iter().all(|case| known(case.plan)));
        let text = all.join(",");
        assert!(FAULTS.iter().all(|fault| text.contains(fault)));
    }
}
