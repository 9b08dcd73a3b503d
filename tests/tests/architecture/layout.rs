//! One file style: a module with children is a folder with a `mod.rs`.

use std::fs;

use super::{root, sources};

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

#[test]
fn a_module_with_children_is_a_folder_with_a_mod_file() {
    let mut files = Vec::new();
    for folder in FOLDERS {
        sources(&root().join(folder), &mut files);
    }
    let beside: Vec<_> = files
        .iter()
        .filter(|file| file.with_extension("").is_dir())
        .collect();
    assert!(beside.is_empty(), "a folder beside its module: {beside:#?}");
}

/// Paths below `idem-runtime/src`, and those from the root of the project.
#[test]
fn every_file_that_the_page_of_architecture_names_is_there() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page");
    let named: Vec<_> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.contains('/') && !word.contains([' ', '*', ':', '#', '(']))
        .collect();
    assert!(
        named.len() > 15,
        "only {} paths read from the page",
        named.len()
    );
    let missing: Vec<_> = named
        .into_iter()
        .filter(|path| {
            !root().join(path).exists() && !root().join("idem-runtime/src").join(path).exists()
        })
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
