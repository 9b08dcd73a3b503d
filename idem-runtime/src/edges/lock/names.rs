//! The paths of parts, and which of them are the same under another name.

use std::collections::BTreeSet;

/// A part of the file or of the program: its path and its shape.
pub(super) type Part<'p> = (&'p str, &'p str);

/// Finds things that have the same parts under another name, in the same place; takes their parts out of both lists, and
/// returns the old and the new path of each.
pub(super) fn renamed(
    removed: &mut Vec<Part<'_>>,
    added: &mut Vec<Part<'_>>,
) -> Vec<(String, String)> {
    let mut renamed = Vec::new();
    let outer: BTreeSet<String> = removed
        .iter()
        .flat_map(|(path, _)| prefixes(path))
        .collect();
    for old in outer {
        let before = under(removed, &old);
        if before.is_empty() {
            continue;
        }
        let candidates: BTreeSet<String> = added
            .iter()
            .flat_map(|(path, _)| prefixes(path))
            .filter(|new| parent(new) == parent(&old) && under(added, new) == before)
            .collect();
        // Of two candidates, neither is known to be the new name.
        let mut candidates = candidates.into_iter();
        let (Some(new), None) = (candidates.next(), candidates.next()) else {
            continue;
        };
        removed.retain(|(path, _)| suffix(path, &old).is_none());
        added.retain(|(path, _)| suffix(path, &new).is_none());
        renamed.push((old, new));
    }
    renamed
}

/// Returns the path of each named thing that a part is in, and its own.
fn prefixes(path: &str) -> Vec<String> {
    let ends = path.match_indices('.').map(|(at, _)| at);
    let ends = ends.chain([path.len()]);
    ends.map(|end| path[..end].to_owned()).collect()
}

/// Returns the path of what a named thing is in; empty for a parameter.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// Returns what follows `prefix` in a path, if the path is that thing or in it.
pub(super) fn suffix<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    path.strip_prefix(prefix)
        .filter(|rest| rest.is_empty() || rest.starts_with(['.', '[', '(']))
}

/// Returns the parts under a prefix, by what follows it.
fn under<'p>(parts: &[Part<'p>], prefix: &str) -> Vec<Part<'p>> {
    parts
        .iter()
        .filter_map(|(path, shape)| Some((suffix(path, prefix)?, *shape)))
        .collect()
}
