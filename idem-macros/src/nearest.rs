//! The name that was probably meant.

/// Returns the candidate with the fewest edits from `name`, if it is near enough to be a typing
/// error.
///
/// At most a third of the longer word may differ. At the same distance the earlier candidate wins.
pub(crate) fn nearest<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    candidates
        .into_iter()
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(edits, candidate)| *edits <= name.len().max(candidate.len()).div_ceil(3))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Counts the insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substituted = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = substituted.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::{edits, nearest};

    #[test]
    fn an_edit_is_one_letter_or_one_swap() {
        assert_eq!(edits("retention", "retention"), 0);
        assert_eq!(edits("retenton", "retention"), 1);
        assert_eq!(edits("retnetion", "retention"), 1);
        assert_eq!(edits("namespaces", "namespace"), 1);
        assert_eq!(edits("", "wait"), 4);
    }

    #[test]
    fn a_word_of_other_letters_suggests_nothing() {
        assert_eq!(nearest("colour", ["namespace", "wait"]), None);
        assert_eq!(nearest("wiat", ["namespace", "wait"]), Some("wait"));
    }
}
