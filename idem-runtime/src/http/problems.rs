#![doc = include_str!("problems.md")]

/// This page, in Markdown, for a service that explains problems under an address of its own
/// ([`HttpPolicy::problem_types`](super::HttpPolicy::problem_types)).
pub const PAGE: &str = include_str!("problems.md");
