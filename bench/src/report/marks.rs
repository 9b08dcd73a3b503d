//! Marks in a hand-written document, with generated figures between them.

use crate::Fault;

const END: &str = "<!-- end -->";

/// Replaces the text between the marks of this name.
pub(crate) fn replace_between(document: &str, name: &str, text: &str) -> Result<String, Fault> {
    let (begin, [head, _, tail]) = parts(document, name)?;
    Ok(format!("{head}{begin}\n\n{text}\n\n{END}{tail}"))
}

/// Returns the text between the marks of this name.
pub(crate) fn between<'d>(document: &'d str, name: &str) -> Result<&'d str, Fault> {
    parts(document, name).map(|(_, [_, text, _])| text.trim())
}

/// Returns the first mark of this name, and what is before the marks, between them and behind them.
fn parts<'d>(document: &'d str, name: &str) -> Result<(String, [&'d str; 3]), Fault> {
    let begin = format!("<!-- bench: {name} -->");
    let (head, rest) = document
        .split_once(&begin)
        .ok_or_else(|| format!("the document has no mark {begin}"))?;
    let (text, tail) = rest
        .split_once(END)
        .ok_or_else(|| format!("the document has no {END} after {begin}"))?;
    Ok((begin, [head, text, tail]))
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
        assert_eq!(between(&once, "x").expect("it has the mark"), "new");
    }
}
