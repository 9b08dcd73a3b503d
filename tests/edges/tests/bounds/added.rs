//! What the edge adds to a call of each transport, for people to read.

use std::fmt;

use idem_tests_counting::table::Table;

/// The instructions of each transport: bare, with the edge, and the difference.
pub(crate) struct Added<'t>(pub(crate) &'t Table);

impl fmt::Display for Added<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:12}{:>10}{:>10}{:>10}{:>10}{:>10}",
            "transport", "bare", "edge", "added", "replay", "refusal"
        )?;
        for (name, bare) in &self.0.0 {
            let Some(transport) = name.strip_suffix("_bare") else {
                continue;
            };
            let of = |kind: &str| {
                let name = format!("{transport}_{kind}");
                let row = self.0.0.iter().find(|(known, _)| *known == name);
                row.map_or(0, |(_, cost)| cost.instructions)
            };
            let (bare, first) = (bare.instructions, of("first"));
            let added = i128::from(first) - i128::from(bare);
            writeln!(
                f,
                "{transport:12}{bare:>10}{first:>10}{added:>10}{:>10}{:>10}",
                of("replay"),
                of("refusal"),
            )?;
        }
        Ok(())
    }
}

#[test]
fn the_difference_is_of_one_transport() {
    let text = "stretch instructions allocations bytes\n\
                a_bare 100 1 1\na_first 130 1 1\na_replay 140 1 1\na_refusal 90 1 1\nb_bare 5 1 1\nb_first 4 1 1\n";
    let table: Table = text.parse().expect("a table");
    let shown = Added(&table).to_string();
    let words = shown.lines().skip(1).map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        words.join(" ")
    });
    let lines: Vec<_> = words.collect();
    assert_eq!(lines, ["a 100 130 30 140 90", "b 5 4 -1 0 0"]);
}
