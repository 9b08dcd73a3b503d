//! Marks in a hand-written document, with generated figures between them.

use crate::Fault;

/// Replaces the text between the marks of this name.
pub(crate) fn replace_between(document: &str, name: &str, text: &str) -> Result<String, Fault> {
    let (begin, end) = (format!("<!-- bench: {name} -->"), "<!-- end -->");
    let (head, rest) = document
        .split_once(&begin)
        .ok_or_else(|| format!("the document has no mark {begin}"))?;
    let (_, tail) = rest
        .split_once(end)
        .ok_or_else(|| format!("the document has no {end} after {begin}"))?;
    Ok(format!("{head}{begin}\n\n{text}\n\n{end}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_two_marks_is_replaced_and_nothing_else() {
        let document =
            "a\n<!-- bench: x -->\nold\n<!-- end -->\nb\n<!-- bench: y -->\n<!-- end -->\n";
        let once = replace_between(document, "x", "new").expect("it has the mark");
        let expected =
            "a\n<!-- bench: x -->\n\nnew\n\n<!-- end -->\nb\n<!-- bench: y -->\n<!-- end -->\n";
        assert_eq!(once, expected);
        assert_eq!(
            replace_between(&once, "x", "new").expect("it has the mark"),
            once
        );
        assert!(replace_between(document, "z", "").is_err());
    }
}
