#![doc = include_str!("problems.md")]

/// This page, in Markdown, for a service that publishes it at its own address
/// (`HttpPolicy::problem_types` of the crate `idem-axum`).
pub const PAGE: &str = include_str!("problems.md");

#[cfg(test)]
mod tests {
    use super::super::problem::DOCUMENTATION;
    use super::super::status::CODES;
    use super::PAGE;

    /// The headings of the page, each with the status that its text begins with.
    fn headings() -> Vec<(String, String)> {
        let parts = PAGE.split("\n## ").skip(1);
        let heads = parts.map(|part| part.split_once("\n\n").expect("a paragraph"));
        let until = |text: &str| text.split(['.', ',']).next().unwrap_or_default().to_owned();
        heads
            .map(|(code, text)| (code, text.strip_prefix("Status ").expect("a status")))
            .map(|(code, text)| (code.to_owned(), until(text)))
            .collect()
    }

    #[test]
    fn each_code_is_a_heading_of_the_page_with_its_status() {
        let codes = CODES.map(|(code, status)| (code.to_owned(), status.to_string()));
        assert_eq!(headings(), codes);
        // rustdoc uses the heading itself as the anchor only if it consists of these characters.
        let plain = |code: &str| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        assert!(CODES.iter().all(|(code, _)| plain(code)));
        assert!(DOCUMENTATION.ends_with("/idem_runtime/http/problems/index.html"));
    }
}
