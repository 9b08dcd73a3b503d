//! Runs all cases at once, so that they share a build, and checks the page that explains them.

mod page;

use std::fs;
use std::path::Path;

#[test]
fn every_fault_is_explained_and_every_shape_compiles() {
    let advice = Path::new(env!("CARGO_TARGET_TMPDIR")).join("what_the_page_advises.rs");
    fs::write(&advice, page::advice()).expect("the file is written");
    let cases = trybuild::TestCases::new();
    cases.compile_fail("fail/*.rs");
    cases.pass("pass/*.rs");
    cases.pass(advice);
}
