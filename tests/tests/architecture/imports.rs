//! Finds the modules of the crate that a source file names.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ItemMod, ItemUse, UseTree};

/// Returns the paths below the root of the crate that `text` names, in `use` or in a path, through `crate::`
/// or `super::`, at any nesting. `file` is its path below `src`.
pub(crate) fn of(file: &Path, text: &str) -> BTreeSet<String> {
    read(file, text).found
}

/// The paths of two segments and more that begin outside the crate, or at something of the file's own.
pub(crate) fn foreign(file: &Path, text: &str) -> BTreeSet<String> {
    read(file, text).foreign
}

fn read(file: &Path, text: &str) -> Names {
    let parsed = syn::parse_file(text).expect("a source parses");
    let mut observed = Names {
        here: position(file),
        found: BTreeSet::new(),
        foreign: BTreeSet::new(),
    };
    observed.visit_file(&parsed);
    observed
}

/// Returns the module path of a file.
fn position(file: &Path) -> Vec<String> {
    let mut position: Vec<String> = file
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if position.last().is_some_and(|last| last == "mod") || position == ["lib"] {
        position.pop();
    }
    position
}

struct Names {
    here: Vec<String>,
    found: BTreeSet<String>,
    foreign: BTreeSet<String>,
}

impl Names {
    /// Records the target of a path with these segments, if it begins in this crate.
    fn note(&mut self, path: &[String]) {
        let mut from: Vec<String> = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self" | "super") => self.here.clone(),
            _ => {
                if path.len() > 1 {
                    self.foreign.insert(path.join("::"));
                }
                return;
            }
        };
        for segment in path {
            match segment.as_str() {
                "crate" | "self" => {}
                "super" => {
                    from.pop();
                }
                name => from.push(name.to_owned()),
            }
        }
        if !from.is_empty() {
            self.found.insert(from.join("::"));
        }
    }

    fn tree(&mut self, before: &mut Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(before, &path.tree);
                before.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(before, tree);
                }
            }
            UseTree::Name(name) => self.leaf(before, name.ident.to_string()),
            UseTree::Rename(name) => self.leaf(before, name.ident.to_string()),
            UseTree::Glob(_) => self.note(before),
        }
    }

    fn leaf(&mut self, before: &mut Vec<String>, name: String) {
        before.push(name);
        self.note(before);
        before.pop();
    }

    /// Macro arguments are not parsed: paths are read from their tokens.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut points = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    points += 1;
                    continue;
                }
                TokenTree::Ident(ident) if points == 2 => path.push(ident.to_string()),
                token => {
                    self.note(&path);
                    path.clear();
                    match token {
                        TokenTree::Ident(ident) => path.push(ident.to_string()),
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                    }
                }
            }
            points = 0;
        }
        self.note(&path);
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.here.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.here.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.tree(&mut Vec::new(), &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if segments.len() > 1 {
            self.note(&segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {
        // Documentation may link to any module.
    }

    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {
        // A visibility restriction imports nothing.
    }
}

#[test]
fn every_way_to_name_a_module_is_read() {
    let found = |file: &str, text: &str| of(Path::new(file), text).into_iter().collect::<Vec<_>>();
    assert_eq!(
        found("a/b.rs", "use crate::{c, d::{E, f}};"),
        ["c", "d::E", "d::f"]
    );
    assert_eq!(found("a/b.rs", "use super::super::c;"), ["c"]);
    assert_eq!(found("a/mod.rs", "use super::{c as d, e::*};"), ["c", "e"]);
    assert_eq!(found("a/b.rs", "use super::c;"), ["a::c"]);
    assert_eq!(
        found("a.rs", "mod t { use super::*; use super::super::c; }"),
        ["a", "c"]
    );
    assert_eq!(
        found("a.rs", "fn f() -> crate::c::D { crate::e::f() }"),
        ["c::D", "e::f"]
    );
    assert_eq!(found("a.rs", "fn f() { g!(x, [crate::c::D]); }"), ["c::D"]);
    assert_eq!(
        found("a.rs", "#[doc = \"[x](crate::c)\"] pub(crate) fn f() {}"),
        [""; 0]
    );
    assert_eq!(found("lib.rs", "use self::c::D;"), ["c::D"]);
    let foreign = |text: &str| {
        foreign(Path::new("a.rs"), text)
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        foreign("use c::{d, e::F}; use crate::g;"),
        ["c::d", "c::e::F"]
    );
    assert_eq!(foreign("fn f() -> ::c::D { g!(e::h) }"), ["c::D", "e::h"]);
}
