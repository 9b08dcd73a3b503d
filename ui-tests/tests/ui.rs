//! One run for all cases, so that they share a build.

#[test]
fn every_fault_is_explained_and_every_shape_compiles() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("fail/*.rs");
    cases.pass("pass/*.rs");
}
