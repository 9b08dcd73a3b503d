//! One word, one thing: no definition bears a word that was retired for the field's own.
//!
//! Definitions are read from the syntax: items, fields, variants, parameters and locals. The methods of
//! an implemented trait are the trait's, and uses are nobody's definition, so that `Option::take` or
//! `Iterator::fold` need no exception.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Ident, Item};

use super::{root, sources};

/// A part of no name, in any crate.
const PARTS: [&str; 20] = [
    "armed", "arrival", "lent", "lessee", "mint", "minted", "minter", "peek", "rid", "rival",
    "rivals", "seal", "sealing", "sheet", "sighting", "spent", "unbroken", "unmark", "untold",
    "witness",
];

/// No whole name, in any crate.
const NAMES: [&str; 18] = [
    "alter", "ask", "beat", "fold", "hold_on", "home", "mark", "met", "place", "put", "question",
    "seen", "take", "tell", "terms", "told", "unclear", "undo",
];

/// No type's name in a crate of the library: a test may have an entry in a log, or a card declined.
const TYPES: [&str; 6] = ["Declined", "Entry", "Held", "Listed", "Mark", "Sealed"];

/// The crates that users depend on.
const LIBRARY: [&str; 5] = [
    "clients/rust/src",
    "idem-macros/src",
    "idem-messaging/src",
    "idem-runtime/src",
    "transports",
];

/// Everything of ours that is compiled; what must not compile under `ui-tests/fail` is in it.
const FOLDERS: [&str; 12] = [
    "bench",
    "clients/rust",
    "examples",
    "fuzz",
    "idem-cli",
    "idem-macros",
    "idem-messaging",
    "idem-runtime",
    "tests",
    "transports",
    "ui-tests",
    "xtask",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Type,
    Trait,
    Module,
    Other,
}

/// The definitions of one file.
#[derive(Default)]
struct Definitions(Vec<(Kind, String)>);

impl Definitions {
    fn of(source: &str) -> syn::Result<Self> {
        let mut found = Self::default();
        found.visit_file(&syn::parse_file(source)?);
        Ok(found)
    }

    fn add(&mut self, kind: Kind, name: &Ident) {
        let name = name.to_string();
        self.0
            .push((kind, name.trim_start_matches("r#").to_owned()));
    }
}

impl<'a> Visit<'a> for Definitions {
    fn visit_item(&mut self, item: &'a Item) {
        match item {
            Item::Const(item) => self.add(Kind::Other, &item.ident),
            Item::Enum(item) => self.add(Kind::Type, &item.ident),
            Item::Macro(item) => {
                if let Some(name) = &item.ident {
                    self.add(Kind::Other, name);
                }
            }
            Item::Mod(item) => self.add(Kind::Module, &item.ident),
            Item::Static(item) => self.add(Kind::Other, &item.ident),
            Item::Struct(item) => self.add(Kind::Type, &item.ident),
            Item::Trait(item) => self.add(Kind::Trait, &item.ident),
            Item::Type(item) => self.add(Kind::Type, &item.ident),
            Item::Union(item) => self.add(Kind::Type, &item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.add(Kind::Other, &item.sig.ident);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        if item.trait_.is_none() {
            for item in &item.items {
                match item {
                    syn::ImplItem::Const(item) => self.add(Kind::Other, &item.ident),
                    syn::ImplItem::Fn(item) => self.add(Kind::Other, &item.sig.ident),
                    _ => {}
                }
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_trait_item(&mut self, item: &'a syn::TraitItem) {
        match item {
            syn::TraitItem::Const(item) => self.add(Kind::Other, &item.ident),
            syn::TraitItem::Fn(item) => self.add(Kind::Other, &item.sig.ident),
            syn::TraitItem::Type(item) => self.add(Kind::Other, &item.ident),
            _ => {}
        }
        visit::visit_trait_item(self, item);
    }

    fn visit_variant(&mut self, variant: &'a syn::Variant) {
        self.add(Kind::Other, &variant.ident);
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        if let Some(name) = &field.ident {
            self.add(Kind::Other, name);
        }
        visit::visit_field(self, field);
    }

    fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
        self.add(Kind::Other, &pattern.ident);
        visit::visit_pat_ident(self, pattern);
    }
}

/// `NewRecord` as `new_record`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut after_lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && after_lower {
            snake.push('_');
        }
        after_lower = !letter.is_ascii_uppercase() && letter != '_';
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn is_retired(kind: Kind, name: &str, library: bool) -> bool {
    let snake = snake_case(name);
    snake.split('_').any(|part| PARTS.contains(&part))
        || (kind != Kind::Module && NAMES.contains(&&*snake))
        || (library && kind == Kind::Type && TYPES.contains(&name))
}

#[test]
fn no_definition_bears_a_retired_word() {
    let mut retired = Vec::new();
    let mut read = 0;
    for folder in FOLDERS {
        let mut files = Vec::new();
        if root().join(folder).is_dir() {
            sources(&root().join(folder), &mut files);
        }
        for file in files {
            let below = file.strip_prefix(root()).expect("below the root");
            // What is not Rust at all is there to be refused.
            let Ok(found) = Definitions::of(&fs::read_to_string(&file).expect("a source")) else {
                assert!(below.starts_with("ui-tests/fail"), "{}", below.display());
                continue;
            };
            read += found.0.len();
            let library = LIBRARY.iter().any(|folder| below.starts_with(folder));
            let bad = found
                .0
                .iter()
                .filter(|(kind, name)| is_retired(*kind, name, library))
                .map(|(_, name)| format!("{}: `{name}`", below.display()));
            retired.extend(bad);
        }
    }
    assert!(read > 10_000, "only {read} definitions read");
    assert!(
        retired.is_empty(),
        "name these by the words of ARCHITECTURE.md's glossary: {retired:#?}"
    );
}

#[test]
fn definitions_of_every_kind_are_read_and_uses_are_none() {
    let source = "
        mod a1 { pub struct B2 { c3: u8 } pub enum D4 { E5 { f6: u8 } } pub type G7 = u8; }
        const H8: u8 = 0; static I9: u8 = 0; macro_rules! j10 { () => {} }
        trait K11 { const L12: u8; type M13; fn n14(o15: u8); }
        impl B2 { const P16: u8 = 0; fn q17(&self, r18: u8) { let (s19, t20) = (1, self.fold()); } }
        impl Iterator for B2 { type Item = u8; fn fold(self) { if let Some(u21) = take() {} } }
        fn v22() { let w23 = |x24: u8| x24.peek(); fn y25() {} }
    ";
    let found = Definitions::of(source).expect("it is Rust");
    let names: Vec<_> = found.0.iter().map(|(_, name)| &**name).collect();
    for number in 1..=25 {
        let ours =
            |name: &&&str| name.trim_start_matches(char::is_alphabetic) == number.to_string();
        assert_eq!(names.iter().filter(ours).count(), 1, "{number}: {names:?}");
    }
    for use_only in ["fold", "take", "peek", "Item"] {
        assert!(!names.contains(&use_only), "{use_only}");
    }
    assert!(is_retired(Kind::Other, "is_rivals_own", false));
    assert!(is_retired(Kind::Type, "LentKey", false));
    assert!(!is_retired(Kind::Other, "take_over", true));
    assert!(is_retired(Kind::Type, "Entry", true) && !is_retired(Kind::Type, "Entry", false));
}

/// A file of a crate's own, and not of its tests.
fn is_of_the_crate(file: &Path) -> bool {
    let mut parts = file.iter().map(|part| part.to_string_lossy());
    !parts.any(|part| ["model", "snapshots", "tests", "tests.rs"].contains(&&*part))
}

#[test]
fn a_types_name_is_one_types_in_a_crate() {
    for folder in [
        "clients/rust/src",
        "idem-macros/src",
        "idem-messaging/src",
        "idem-runtime/src",
    ] {
        let mut files = Vec::new();
        sources(&root().join(folder), &mut files);
        let mut locations = BTreeMap::<String, Vec<String>>::new();
        for file in files.iter().filter(|file| is_of_the_crate(file)) {
            let source = fs::read_to_string(file).expect("a source");
            for (kind, name) in Definitions::of(&source).expect("it compiles").0 {
                if kind == Kind::Type {
                    let file = file.display().to_string();
                    locations.entry(name).or_default().push(file);
                }
            }
        }
        assert!(
            locations.len() > 20,
            "only {} types in {folder}",
            locations.len()
        );
        locations.retain(|_, locations| locations.len() > 1);
        assert!(locations.is_empty(), "{locations:#?}");
    }
}
