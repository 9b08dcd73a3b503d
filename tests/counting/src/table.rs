//! Costs by stretch: as text, and compared.

use std::fmt;
use std::str::FromStr;

/// The tolerance in hundredths of the bound. A cost may be this far above its bound; if it is
/// further below, the bound is to be lowered.
const SLACK: u64 = 10;

/// The cost of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// As callgrind counts them.
    pub instructions: u64,
    /// Includes reallocations.
    pub allocations: u64,
    /// Those of all allocations.
    pub bytes: u64,
}

/// The cost of each stretch.
#[derive(Debug, PartialEq, Eq)]
pub struct Table(pub Vec<(String, Cost)>);

const HEAD: &str = "stretch instructions allocations bytes";

impl Cost {
    fn by_name(self) -> [(&'static str, u64); 3] {
        [
            ("instructions", self.instructions),
            ("allocations", self.allocations),
            ("allocated bytes", self.bytes),
        ]
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = HEAD.split(' ').collect();
        writeln!(
            f,
            "{:24}{:>14}{:>13}{:>10}",
            words[0], words[1], words[2], words[3]
        )?;
        for (name, cost) in &self.0 {
            let Cost {
                instructions,
                allocations,
                bytes,
            } = cost;
            writeln!(f, "{name:24}{instructions:>14}{allocations:>13}{bytes:>10}")?;
        }
        Ok(())
    }
}

impl FromStr for Table {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let head: Vec<_> = lines
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        if head.join(" ") != HEAD {
            return Err(format!("the first line is not `{HEAD}`"));
        }
        let costs = lines.map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            let [name, numbers @ ..] = &words[..] else {
                return Err("a line is empty".to_owned());
            };
            let numbers: Vec<u64> = numbers
                .iter()
                .filter_map(|word| word.parse().ok())
                .collect();
            let [instructions, allocations, bytes] = numbers[..] else {
                return Err(format!("not a name and three numbers: {line}"));
            };
            let cost = Cost {
                instructions,
                allocations,
                bytes,
            };
            Ok(((*name).to_owned(), cost))
        });
        Ok(Self(costs.collect::<Result<_, _>>()?))
    }
}

/// The result of a comparison, in sentences.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Costs above their bound, and costs that cannot be compared.
    pub faults: Vec<String>,
    /// Costs so far below their bound that it no longer limits them.
    pub lower: Vec<String>,
}

impl Verdict {
    /// Compares each stretch with its bound. `bless` is the command that replaces the bounds.
    pub fn of(measured: &Table, bounds: &Table, bless: &str) -> Self {
        let mut verdict = Self::default();
        let names = |table: &Table| table.0.iter().map(|(name, _)| name.clone()).collect();
        let (reported, bounded): (Vec<_>, Vec<_>) = (names(measured), names(bounds));
        if reported != bounded {
            verdict.faults.push(format!(
                "the stretches measured are {}, but the bounds are for {}: run `{bless}`",
                reported.join(", "),
                bounded.join(", "),
            ));
            return verdict;
        }
        for ((name, cost), (_, bound)) in measured.0.iter().zip(&bounds.0) {
            for ((what, cost), (_, bound)) in cost.by_name().into_iter().zip(bound.by_name()) {
                let difference = cost.abs_diff(bound) * 100;
                if difference <= bound * SLACK {
                    continue;
                }
                if cost > bound {
                    verdict.faults.push(format!(
                        "{name}: {cost} {what}, above the bound of {bound} plus {SLACK} %"
                    ));
                } else {
                    verdict.lower.push(format!(
                        "{name}: {cost} {what} are well below {bound}: lower the bound with `{bless}`"
                    ));
                }
            }
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, Table, Verdict};

    fn table(name: &str, instructions: u64) -> Table {
        let cost = Cost {
            instructions,
            allocations: 0,
            bytes: 70,
        };
        Table(vec![(name.to_owned(), cost)])
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let table = table("whole_replay", 1_234_567);
        assert_eq!(table.to_string().parse(), Ok(table));
        assert!("stretch instructions".parse::<Table>().is_err());
    }

    #[test]
    fn a_tenth_above_the_bound_is_good_and_more_is_a_fault_with_both_figures() {
        let bounds = table("a", 1000);
        assert!(
            Verdict::of(&table("a", 1100), &bounds, "bless")
                .faults
                .is_empty()
        );
        let faults = Verdict::of(&table("a", 1101), &bounds, "bless").faults;
        assert_eq!(
            faults,
            ["a: 1101 instructions, above the bound of 1000 plus 10 %"]
        );
    }

    #[test]
    fn more_than_a_tenth_below_the_bound_is_said_and_no_fault() {
        let bounds = table("a", 1000);
        assert!(
            Verdict::of(&table("a", 900), &bounds, "bless")
                .lower
                .is_empty()
        );
        let verdict = Verdict::of(&table("a", 899), &bounds, "bless");
        assert!(verdict.faults.is_empty());
        assert_eq!(verdict.lower.len(), 1);
    }

    #[test]
    fn a_stretch_without_a_bound_is_a_fault() {
        assert_eq!(
            Verdict::of(&table("a", 1), &table("b", 1), "bless")
                .faults
                .len(),
            1
        );
    }
}
