#![doc = include_str!("problems.md")]

/// This page, in Markdown, for a service that explains problems under an address of its own
/// ([`HttpPolicy::problem_types`](super::HttpPolicy::problem_types)).
pub const PAGE: &str = include_str!("problems.md");

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::super::problem::{CODES, DOCUMENTATION};
    use super::PAGE;

    /// Headings of the page, each with the status with which its text begins.
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
        let codes = CODES.map(|(code, status)| (code.to_owned(), status.as_str().to_owned()));
        assert_eq!(headings(), codes);
        // What rustdoc makes an anchor of is the heading itself if it is nothing but this.
        let plain = |code: &str| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        assert!(CODES.iter().all(|(code, _)| plain(code)));
        assert!(DOCUMENTATION.ends_with("/idem_runtime/http/problems/index.html"));
    }

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }

    #[test]
    fn each_problem_that_the_library_makes_has_a_code_of_the_page() {
        let mut files = Vec::new();
        sources(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http"),
            &mut files,
        );
        let mut made = 0;
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            // Examples make problems of their own.
            let code: String = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .map(str::trim)
                .collect();
            for call in code.split("Problem::new(\"").skip(1) {
                let code = call.split('"').next().unwrap_or_default();
                made += 1;
                let known = CODES.iter().any(|(known, _)| *known == code);
                assert!(known, "{code} of {}", file.display());
            }
        }
        assert!(made >= 4, "only {made} found");
    }
}
