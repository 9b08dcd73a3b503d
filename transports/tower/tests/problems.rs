//! The problems that this crate makes, against the page that explains them.

use std::fs;
use std::path::{Path, PathBuf};

use idem_tower::CODES;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn each_problem_that_the_library_makes_has_a_code_of_the_page() {
    let mut files = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    let mut made = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("a source");
        // Examples make problems of their own.
        let code: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .map(str::trim)
            .collect();
        for call in code.split("Problem::new(\"").skip(1) {
            let code = call.split('"').next().unwrap_or_default();
            made += 1;
            let known = CODES.iter().any(|(known, _)| *known == code);
            assert!(known, "{code} of {}", file.display());
        }
    }
    assert!(made >= 4, "only {made} found");
}
