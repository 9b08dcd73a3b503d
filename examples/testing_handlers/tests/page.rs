//! The page `docs/testing.md` against the tests that it shows.

const PAGE: &str = include_str!("../../../docs/testing.md");
const TESTS: [&str; 2] = [include_str!("handlers.rs"), include_str!("routes.rs")];

#[test]
fn the_page_shows_what_runs() {
    let mut blocks = PAGE.split("\n```rust\n");
    blocks.next().expect("an introduction");
    let shown: Vec<_> = blocks
        .map(|block| block.split_once("\n```").expect("an end").0)
        .collect();
    assert!(shown.len() >= 7, "only {} found", shown.len());
    for code in shown {
        let is_shown = TESTS.iter().any(|tests| tests.contains(code));
        assert!(is_shown, "no test is\n{code}");
    }
}
