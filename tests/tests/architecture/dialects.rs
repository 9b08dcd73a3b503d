//! The rooms of a dialect: the same files in each, statements in `sql`, vendor codes in `error`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::LitStr;
use syn::visit::{self, Visit};

use super::{root, sources};

const DIALECTS: [&str; 3] = ["mysql", "postgres", "sqlite"];

/// The files that every dialect has.
const ROOMS: [&str; 8] = [
    "claim.rs",
    "create.rs",
    "error.rs",
    "lease.rs",
    "mod.rs",
    "sql/mod.rs",
    "unit.rs",
    "verify/mod.rs",
];

/// How a statement begins.
const VERBS: [&str; 20] = [
    "BEGIN",
    "COMMIT",
    "DELETE",
    "DO",
    "EXECUTE",
    "INSERT",
    "KILL",
    "LOCK",
    "PRAGMA",
    "PREPARE",
    "RELEASE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "SHOW",
    "START",
    "UNLOCK",
    "UPDATE",
    "WITH",
];

fn dialect(name: &str) -> PathBuf {
    root().join("idem-runtime/src/stores").join(name)
}

/// The string literals of a file, those in macros among them.
fn literals(file: &Path) -> Vec<String> {
    struct Literals(Vec<String>);

    impl Literals {
        fn tokens(&mut self, tokens: TokenStream) {
            for token in tokens {
                match token {
                    TokenTree::Group(group) => self.tokens(group.stream()),
                    TokenTree::Literal(literal) => {
                        let tokens = TokenStream::from(TokenTree::Literal(literal));
                        self.0
                            .extend(syn::parse2::<LitStr>(tokens).map(|text| text.value()));
                    }
                    TokenTree::Ident(_) | TokenTree::Punct(_) => {}
                }
            }
        }
    }

    impl<'ast> Visit<'ast> for Literals {
        fn visit_lit_str(&mut self, text: &'ast LitStr) {
            self.0.push(text.value());
        }

        fn visit_macro(&mut self, call: &'ast syn::Macro) {
            self.tokens(call.tokens.clone());
            visit::visit_macro(self, call);
        }

        fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

        fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
            if item.ident != "tests" {
                visit::visit_item_mod(self, item);
            }
        }
    }

    let text = fs::read_to_string(file).expect("a source");
    let mut found = Literals(Vec::new());
    found.visit_file(&syn::parse_file(&text).expect("a source parses"));
    found.0
}

/// Whether a text is a statement, and not a list of privileges (`SELECT, UPDATE`).
fn is_statement(text: &str) -> bool {
    let first = text.split([' ', ';']).next().unwrap_or_default();
    let is_whole = ["BEGIN", "COMMIT", "ROLLBACK"].contains(&first);
    let privileges = text.split(", ").all(|word| VERBS.contains(&word));
    VERBS.contains(&first) && (is_whole || !privileges)
}

#[test]
fn a_statement_is_told_from_a_privilege() {
    for text in [
        "SELECT 1",
        "BEGIN",
        "ROLLBACK",
        "ROLLBACK; SELECT 1",
        "UPDATE x",
    ] {
        assert!(is_statement(text), "{text}");
    }
    for text in ["SELECT", "SELECT, UPDATE, DELETE", "a SELECT", "DOUBLE", ""] {
        assert!(!is_statement(text), "{text}");
    }
}

#[test]
fn every_dialect_has_the_same_rooms() {
    for name in DIALECTS {
        for room in ROOMS {
            assert!(dialect(name).join(room).is_file(), "{name} has no {room}");
        }
    }
}

#[test]
fn every_statement_of_a_dialect_is_in_its_sql() {
    let mut elsewhere = BTreeSet::new();
    for name in DIALECTS {
        let mut files = Vec::new();
        sources(&dialect(name), &mut files);
        let mut inside = 0;
        for file in files {
            let below = file.strip_prefix(dialect(name)).expect("below").to_owned();
            let statements = literals(&file)
                .into_iter()
                .filter(|text| is_statement(text));
            if below.starts_with("sql") {
                inside += statements.count();
            } else if !below.ends_with("tests.rs") {
                elsewhere.extend(statements.map(|text| (name, below.clone(), text)));
            }
        }
        assert!(inside > 5, "only {inside} statements in {name}/sql");
    }
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
}

/// SQLSTATEs have five characters, a digit among them.
#[test]
fn sqlstates_are_matched_in_error_only() {
    let mut elsewhere = BTreeSet::new();
    let mut files = Vec::new();
    sources(&dialect("postgres"), &mut files);
    for file in files {
        if file.ends_with("error.rs") || file.ends_with("tests.rs") {
            continue;
        }
        let is_code = |text: &String| {
            text.len() == 5
                && text.bytes().any(|byte| byte.is_ascii_digit())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        };
        elsewhere.extend(
            literals(&file)
                .into_iter()
                .filter(is_code)
                .map(|code| (file.clone(), code)),
        );
    }
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
}
