//! The rule for a namespace, which the runtime enforces too. A test holds the two against each other.

/// The maximum length, in characters.
const MAX: usize = 64;

/// Returns what is wrong with a namespace, and what to type: it has 1 to 64 of `a-z 0-9 - _`.
pub(crate) fn complaint(text: &str) -> Option<String> {
    let allowed = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_');
    if text.is_empty() {
        return Some(
            "the namespace is empty: name the service that owns the keys, such as `payments`"
                .to_owned(),
        );
    }
    if text.len() > MAX {
        let length = text.chars().count();
        return Some(format!(
            "a namespace has at most {MAX} characters, this one {length}"
        ));
    }
    let wrong = text.chars().find(|c| !allowed(*c))?;
    let mended: String = text
        .trim()
        .to_lowercase()
        .chars()
        .map(|c| if allowed(c) { c } else { '-' })
        .collect();
    Some(format!(
        "{wrong:?} cannot be in a namespace (`a-z`, `0-9`, `-` and `_` can): write `{mended}`"
    ))
}
