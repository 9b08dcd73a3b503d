//! One file style: a module with children is a folder with a `mod.rs`.

use super::{root, sources};

const FOLDERS: [&str; 9] = [
    "bench",
    "examples",
    "fuzz",
    "idem-macros",
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
