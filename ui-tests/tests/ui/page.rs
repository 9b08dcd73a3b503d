//! Checks that `docs/diagnostics.md` agrees with the codes, the cases and the compiler's output.
//!
//! `TRYBUILD=overwrite cargo test -p idem-ui-tests page` rewrites the faulty code and the messages
//! from the blessed cases.

use std::path::{Path, PathBuf};
use std::{env, fs};

const PRELUDE: &str = "use idem_ui_tests::*;\n\n";
const EPILOGUE: &str = "\n\nfn main() {}";

fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("the workspace")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn path() -> PathBuf {
    root().join("docs/diagnostics.md")
}

/// The entry of one code on the page.
struct Entry {
    code: String,
    case: String,
    /// The fenced blocks: the faulty code, the message, the right code.
    blocks: [String; 3],
}

fn entries() -> Vec<Entry> {
    let page = read(path());
    let mut parts = page.split("\n## ");
    parts.next().expect("an introduction");
    parts.map(entry).collect()
}

fn entry(text: &str) -> Entry {
    let code = text.lines().next().expect("a title").to_owned();
    let case =
        between(text, "(../ui-tests/fail/", ".rs)").unwrap_or_else(|| panic!("{code}: no case"));
    let mut fenced = text.split("\n```");
    fenced.next();
    let blocks: Vec<String> = fenced
        .step_by(2)
        .filter_map(|block| Some(block.split_once('\n')?.1.to_owned()))
        .collect();
    let blocks = <[String; 3]>::try_from(blocks);
    Entry {
        case: case.to_owned(),
        blocks: blocks.unwrap_or_else(|found| panic!("{code}: {} blocks", found.len())),
        code,
    }
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    text.split_once(before)?
        .1
        .split_once(after)
        .map(|(found, _)| found)
}

/// Returns the right code of all entries, each in its own module.
pub(crate) fn advice() -> String {
    let modules = entries().into_iter().map(|entry| {
        let [_, _, right] = entry.blocks;
        let name = entry.code.to_lowercase();
        format!("mod {name} {{\n{PRELUDE}{right}\n}}\n")
    });
    let modules: String = modules.collect();
    format!("#![allow(unused)]\n{modules}\nfn main() {{}}\n")
}

/// Returns the codes as the macro crate declares them: `Name = 7,`.
fn declared() -> Vec<String> {
    let source = read("idem-macros/src/diagnostic.rs");
    let numbers = between(&source, "enum Code {", "\n}").expect("the codes");
    numbers
        .lines()
        .filter_map(|line| line.trim().strip_suffix(',')?.split_once(" = "))
        .map(|(_, number)| format!("IDEM{number:0>3}"))
        .collect()
}

#[test]
fn the_page_has_every_code_in_order() {
    let shown: Vec<String> = entries().into_iter().map(|entry| entry.code).collect();
    assert_eq!(shown, declared());
}

#[test]
fn the_page_shows_each_case_and_what_is_printed_for_it() {
    let bless = env::var_os("TRYBUILD").is_some_and(|mode| mode == "overwrite");
    let mut page = read(path());
    for Entry { code, case, blocks } in entries() {
        let source = read(format!("ui-tests/fail/{case}.rs"));
        let source = between(&source, PRELUDE, EPILOGUE)
            .expect("a case")
            .to_owned();
        let printed = read(format!("ui-tests/fail/{case}.stderr"));
        let printed = printed.trim_end();
        assert!(
            printed.contains(&format!("[{code}]")),
            "{case} does not print {code}"
        );
        let [wrong, message, _] = &blocks;
        if bless {
            // Surrounded by newlines, because the text of one block may be part of another.
            page = page.replacen(&format!("\n{wrong}\n```"), &format!("\n{source}\n```"), 1);
            page = page.replacen(
                &format!("\n{message}\n```"),
                &format!("\n{printed}\n```"),
                1,
            );
        } else {
            assert_eq!(
                *wrong, source,
                "{code}: the faulty code differs from {case}"
            );
            assert_eq!(
                message, printed,
                "{code}: the message differs from the compiler's output for {case}"
            );
        }
    }
    if bless {
        fs::write(path(), page).expect("the page is written");
    }
}

#[test]
fn the_page_explains_one_fault_at_a_time() {
    for Entry { code, blocks, .. } in entries() {
        let [_, message, right] = blocks;
        assert_eq!(message.matches("[IDEM").count(), 1, "{code}");
        // The compiler's own words stand before the code of a type error or a warning.
        let first = message.lines().next().unwrap_or_default();
        let known = first.starts_with("error") && first.contains(&format!("[{code}]"));
        assert!(known, "{code}");
        assert!(!right.is_empty(), "{code}");
    }
}
