//! No two source files of a crate import each other.
//!
//! A file imports another if it names an item that the other one defines: in a private `use`, or in a path.
//! Names are resolved through `use` and re-exports to the file of the definition, so that a `mod.rs` that only
//! declares and re-exports its children is no party. A `mod.rs`, `lib.rs` or `main.rs` that defines items is a
//! party, but not with the files below it: a parent calls its children, and they build on what it defines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Ident, Item, ItemMod, ItemUse, UseTree};

use super::{module, root, sources};

const CRATES: [&str; 14] = [
    "bench/src",
    "clients/rust/src",
    "idem-cli/src",
    "idem-macros/src",
    "idem-messaging/src",
    "idem-runtime/src",
    "tests/src",
    "transports/actix/src",
    "transports/axum/src",
    "transports/jsonrpc/src",
    "transports/mcp/src",
    "transports/tonic/src",
    "transports/tower/src",
    "xtask/src",
];

/// A module of a crate: a file, or an inline module in one.
#[derive(Default)]
struct Module {
    file: PathBuf,
    items: BTreeSet<String>,
    /// The names that `use` brings into the module, with their paths.
    aliases: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// The paths that the code of the module names.
    named: BTreeSet<Vec<String>>,
}

/// The modules of a crate by their paths from its root.
#[derive(Default)]
struct Modules(BTreeMap<Vec<String>, Module>);

impl Modules {
    fn read(src: &Path) -> Self {
        let mut files = Vec::new();
        sources(src, &mut files);
        let mut modules = Self::default();
        for file in files {
            let text = fs::read_to_string(&file).expect("a source");
            modules.add(
                segments(&module(src, &file)),
                file.strip_prefix(src).expect("below src"),
                &text,
            );
        }
        modules
    }

    fn add(&mut self, path: Vec<String>, file: &Path, text: &str) {
        let parsed = syn::parse_file(text).expect("a source parses");
        let mut reader = Reader {
            modules: self,
            here: path,
            file: file.to_owned(),
        };
        reader.items(&parsed.items);
    }

    /// Returns the file that defines what `path` names, seen from the module `from`.
    fn definition(&self, from: &[String], path: &[String], depth: usize) -> Option<&Path> {
        let (module, rest) = self.walk(from, path, depth)?;
        let found = self.0.get(&module)?;
        (!rest.is_empty() && found.items.contains(&rest[0])).then_some(found.file.as_path())
    }

    /// Follows `path` through modules and `use`: returns the last module, and the rest of the path in it.
    fn walk(
        &self,
        from: &[String],
        path: &[String],
        depth: usize,
    ) -> Option<(Vec<String>, Vec<String>)> {
        if depth == 0 {
            return None;
        }
        let mut at = from.to_vec();
        for (index, part) in path.iter().enumerate() {
            match part.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => {
                    at.pop();
                }
                name => {
                    let mut child = at.clone();
                    child.push(name.to_owned());
                    if self.0.contains_key(&child) {
                        at = child;
                        continue;
                    }
                    let module = self.0.get(&at)?;
                    let rest = &path[index + 1..];
                    if module.items.contains(name) {
                        return Some((at, path[index..].to_vec()));
                    }
                    if let Some(alias) = module.aliases.get(name) {
                        // An alias may have the name that its own path begins with: `use x::x`.
                        let whole: Vec<_> = alias.iter().chain(rest).cloned().collect();
                        return self.walk(&at, &whole, depth - 1);
                    }
                    return module.globs.iter().find_map(|glob| {
                        let (inside, left) = self.walk(&at, glob, depth - 1)?;
                        let whole: Vec<_> = left.iter().chain(&path[index..]).cloned().collect();
                        (inside != at).then(|| self.walk(&inside, &whole, depth - 1))?
                    });
                }
            }
        }
        Some((at, Vec::new()))
    }

    /// Returns what each file imports.
    fn imports(&self) -> BTreeSet<(&Path, &Path)> {
        let mut imports = BTreeSet::new();
        for (path, module) in &self.0 {
            let uses = module.aliases.values();
            for name in module.named.iter().chain(uses) {
                if let Some(file) = self.definition(path, name, DEPTH)
                    && !is_parent(&module.file, file)
                    && !is_parent(file, &module.file)
                {
                    imports.insert((module.file.as_path(), file));
                }
            }
        }
        imports
    }

    /// Returns the pairs of files that import each other.
    fn circles(&self) -> BTreeSet<(String, String)> {
        let imports = self.imports();
        let text = |path: &Path| path.to_str().expect("text").to_owned();
        let pairs = imports
            .iter()
            .filter(|(one, other)| one < other && imports.contains(&(*other, *one)));
        pairs.map(|(one, other)| (text(one), text(other))).collect()
    }
}

/// Returns the parts of a module's path; none for the root of a crate.
fn segments(path: &str) -> Vec<String> {
    let parts = path.split("::").filter(|part| !part.is_empty());
    let root = ["lib", "main"].contains(&path);
    parts.filter(|_| !root).map(str::to_owned).collect()
}

/// Returns whether `parent` is the file itself, or the root of a folder that the other file is in.
fn is_parent(parent: &Path, file: &Path) -> bool {
    let is_root = ["lib.rs", "main.rs", "mod.rs"]
        .iter()
        .any(|name| parent.ends_with(name));
    parent == file || is_root && file.starts_with(parent.parent().expect("a file is in a folder"))
}

/// How many re-exports a name may pass through.
const DEPTH: usize = 12;

struct Reader<'a> {
    modules: &'a mut Modules,
    here: Vec<String>,
    file: PathBuf,
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        let module = self.modules.0.entry(self.here.clone()).or_default();
        module.file.clone_from(&self.file);
        module
    }

    fn items(&mut self, items: &[Item]) {
        self.module();
        for item in items {
            if let Some(name) = defined(item) {
                self.module().items.insert(name.to_string());
            }
            self.visit_item(item);
        }
    }

    fn tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &Ident| {
            let mut path = before.to_vec();
            if name != "self" {
                path.push(name.to_string());
            }
            path
        };
        let (path, name) = match tree {
            UseTree::Path(path) => {
                let before: Vec<_> = before
                    .iter()
                    .cloned()
                    .chain([path.ident.to_string()])
                    .collect();
                return self.tree(&before, &path.tree);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(before, tree);
                }
                return;
            }
            UseTree::Glob(_) => {
                self.module().globs.push(before.to_vec());
                return;
            }
            UseTree::Name(name) => (with(&name.ident), &name.ident),
            UseTree::Rename(name) => (with(&name.ident), &name.rename),
        };
        let name = if name == "self" {
            path.last().cloned()
        } else {
            Some(name.to_string())
        };
        if let Some(name) = name {
            self.module().aliases.insert(name, path);
        }
    }

    /// Reads the paths among the arguments of a macro.
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
                    self.module().named.insert(std::mem::take(&mut path));
                    match token {
                        TokenTree::Ident(ident) => path.push(ident.to_string()),
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                    }
                }
            }
            points = 0;
        }
        self.module().named.insert(path);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if let Some((_, items)) = &item.content {
            self.here.push(item.ident.to_string());
            self.items(items);
            self.here.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter();
        let named = segments.map(|segment| segment.ident.to_string()).collect();
        self.module().named.insert(named);
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

fn defined(item: &Item) -> Option<&Ident> {
    Some(match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    })
}

#[test]
fn no_two_source_files_import_each_other() {
    let mut faults = BTreeSet::new();
    for name in CRATES {
        let circles = Modules::read(&root().join(name)).circles();
        let whole = |file| format!("{name}/{file}");
        faults.extend(
            circles
                .into_iter()
                .map(|(one, other)| (whole(one), whole(other))),
        );
    }
    assert!(
        faults.is_empty(),
        "files that import each other: {faults:#?}"
    );
}

/// Returns the circles of a crate of these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut modules = Modules::default();
    for (file, text) in files {
        modules.add(
            segments(&module(Path::new(""), Path::new(file))),
            Path::new(file),
            text,
        );
    }
    modules.circles().into_iter().collect()
}

#[test]
fn a_circle_is_found_through_every_way_to_name_an_item() {
    let circle = |one: &str, other: &str| vec![(one.to_owned(), other.to_owned())];
    let declares = (
        "a/mod.rs",
        "mod b; mod c; pub use b::B; pub use self::c::*;",
    );
    let b = ("a/b.rs", "use super::C; pub struct B(C);");
    for text in [
        "pub struct C; use super::B;",
        "pub struct C; use crate::a::{B as D};",
        "pub struct C; fn f(b: &crate::a::B) {}",
        "pub struct C; use crate::a; fn f() { a::b::B(C) }",
        "pub struct C; use super::*; fn f(b: B) {}",
        "pub struct C; mod t { fn f() { g!([crate::a::B]) } }",
    ] {
        assert_eq!(
            circles_of(&[declares, b, ("a/c.rs", text)]),
            circle("a/b.rs", "a/c.rs"),
            "{text}"
        );
    }
    let free = ("a/c.rs", "pub struct C; use super::b; use std::B;");
    assert_eq!(circles_of(&[declares, b, free]), []);
}

#[test]
fn a_parent_and_the_files_below_it_are_no_circle() {
    let uncle = ("c.rs", "use crate::a::A; pub struct C(A);");
    let child = ("a/b.rs", "use super::A; pub struct B(A);");
    let with = |text| circles_of(&[("a/mod.rs", text), child, uncle]);
    assert_eq!(with("mod b; pub use b::B; pub struct A;"), []);
    assert_eq!(with("mod b; pub use b::B; pub struct A(B);"), []);
    assert_eq!(with("mod b; use crate::c::C; pub struct A(C);").len(), 1);
}
