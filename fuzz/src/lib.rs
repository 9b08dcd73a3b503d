//! Laws that hold for any bytes: keys, alone and in a header, names, canonical JSON, equality of
//! requests, durations.
//!
//! Each law compares the library with the documentation, or with a second implementation that is
//! slow and simple. `tests/corpus.rs` tries the seeds in `corpus/` and a bounded number of their
//! mutants. `cargo xtask fuzz` searches for longer, guided by coverage (`engine/`).

mod decimal;
mod duration;
mod equal;
mod header;
mod key;
mod mutate;
mod node;
mod order;
mod parse;
mod text;
mod tree;
mod typed;

pub use mutate::{mutants, seeds};

/// One law, and the material to search for an input that breaks it.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of the target and of its folder in `corpus/`.
    pub name: &'static str,
    /// Panics on an input that breaks the law.
    pub law: fn(&[u8]),
    /// The pieces from which mutants are built.
    pub tokens: &'static [&'static str],
}

/// All targets.
pub const TARGETS: [Target; 6] = [
    Target {
        name: "key",
        law: key::law,
        tokens: &[
            " ",
            "\t",
            "\u{a0}",
            "\u{2003}",
            "\u{feff}",
            "\u{85}",
            "\0",
            "\u{7f}",
            "\u{9f}",
            "a",
            "Z",
            "0",
            "-",
            "_",
            ".",
            "e\u{301}",
            "\u{e9}",
            "\u{1f600}",
            "\"",
            "\\",
            "0123456789abcdef",
        ],
    },
    Target {
        name: "header",
        law: header::law,
        tokens: &[
            "\n",
            "\"",
            "\\\"",
            "\\\\",
            ";",
            ",",
            "=",
            " ",
            "\t",
            "\na\"k\"",
            "\nbk",
            ";a=1",
            ";b=?1",
            ";c=:YQ==:",
            ";d=@1",
            "\u{7f}",
            "\u{80}",
            "key",
        ],
    },
    Target {
        name: "duration",
        law: duration::law,
        tokens: &[
            "d",
            "h",
            "m",
            "s",
            "D",
            "ms",
            " ",
            "0",
            "1",
            "9",
            "24",
            "hours",
            "hr",
            "mins",
            "sec",
            "-",
            "+",
            ".",
            ",",
            "18446744073709551615",
            "213503982334601",
            "\u{660}",
            "\u{2003}",
        ],
    },
    Target {
        name: "canonical_text",
        law: text::law,
        tokens: &[
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\\",
            "\\u",
            "\\ud83d\\ude00",
            "\\ud800",
            "\\u0000",
            "null",
            "true",
            "false",
            "-",
            "0",
            "1",
            ".",
            "e",
            "E+",
            "e-",
            "00",
            "9223372036854775807",
            "9223372036854775808",
            "\"a\":",
            " ",
            "\n",
            "\u{feff}",
            "\u{2028}",
            "\u{7f}",
        ],
    },
    Target {
        name: "canonical_typed",
        law: typed::law,
        tokens: &[
            "\0",
            "\u{1}",
            "\u{12}",
            "\u{16}",
            "{\"a\":1}",
            "1e400",
            "\u{7f}",
        ],
    },
    Target {
        name: "request_equality",
        law: equal::law,
        tokens: &[
            "\0",
            "\u{1}",
            "\u{2}",
            "\u{1}\0",
            "\u{1}\u{1}",
            "\u{3}a",
            "\u{7f}",
        ],
    },
];

/// Returns the target with that name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
