//! `#[derive(Failure)]` on tokens: the faults it reports and its expansion.

use proc_macro2::TokenStream;

use super::half_typed::prefixes;
use super::{Expansion, read};

/// A variant for replayed failures, which every complete enum has.
const REPLAYED: &str = "#[failure(replayed)] Recorded(StoredFailure)";

fn derive(item: &str) -> Expansion {
    read(crate::failure::derive(item.parse().expect("tokens")))
}

#[track_caller]
fn faults(item: &str, codes: &[&str]) -> Vec<String> {
    let expansion = derive(item);
    assert_eq!(expansion.codes(), codes, "{:#?}", expansion.errors);
    assert_eq!(
        expansion.items.len(),
        1,
        "the implementation is still there"
    );
    expansion.errors
}

#[track_caller]
fn says(variants: &str, code: &str, message: &str) {
    let item = format!("enum E {{ #[failure(permanent)] Sure, {REPLAYED}, {variants} }}");
    let errors = faults(&item, &[code]);
    assert!(errors[0].contains(message), "{}", errors[0]);
}

#[test]
fn an_enum_without_faults_reports_none() {
    for item in [
        "enum E { #[failure(permanent)] A, #[failure(replayed)] R(StoredFailure) }",
        "enum E { #[failure(permanent, class = \"a\")] B, #[failure(permanent)] A { code: u8 }, #[failure(replayed)] R { held: Box<StoredFailure> }, C(sqlx::Error) }",
        "enum E { #[failure(permanent)] #[failure(class = \"a\",)] A(u8, u8), #[failure(permanent, database)] Taken(Arc<sqlx::Error>), #[failure(replayed)] R(StoredFailure) }",
        "#[failure(crate = crate::renamed)] enum E<T: Copy, const N: usize> where T: Send { #[failure(permanent)] A([T; N]), #[failure(replayed)] R(StoredFailure) }",
    ] {
        faults(item, &[]);
    }
}

#[test]
fn it_goes_on_an_enum() {
    for item in [
        "struct S { a: u8 }",
        "struct S;",
        "union U<T: Copy> { a: T }",
    ] {
        let errors = faults(item, &["IDEM041"]);
        assert!(errors[0].contains("make it a variant"), "{}", errors[0]);
    }
}

#[test]
fn there_is_one_variant_for_replayed_failures_and_it_holds_one() {
    let errors = faults("enum E { #[failure(permanent)] A }", &["IDEM042"]);
    assert!(errors[0].contains("add `#[failure(replayed)] Recorded(StoredFailure)`"));
    says(
        "#[failure(replayed)] Again(StoredFailure)",
        "IDEM042",
        "`Recorded` is",
    );
    for shape in ["R", "R()", "R(u8, StoredFailure)"] {
        let item = format!("enum E {{ #[failure(permanent)] A, #[failure(replayed)] {shape} }}");
        let errors = faults(&item, &["IDEM043"]);
        assert!(
            errors[0].contains("write `R(StoredFailure)`"),
            "{}",
            errors[0]
        );
    }
}

#[test]
fn a_database_error_is_not_permanent_unless_it_is_said_to_be() {
    for ty in [
        "sqlx::Error",
        "::sqlx::error::Error",
        "Box<sqlx::Error>",
        "Arc<dyn DatabaseError>",
        "Option<(error::DatabaseError)>",
        "idem_runtime::Error",
    ] {
        says(
            &format!("#[failure(permanent)] D(u8, {ty})"),
            "IDEM044",
            "permanent, database",
        );
    }
    says(
        "#[failure(permanent, database)] A(io::Error)",
        "IDEM031",
        "remove `database`",
    );
    faults(
        &format!(
            "#[failure(crate = idem)] enum E {{ #[failure(permanent)] A(idem::Error), {REPLAYED} }}"
        ),
        &["IDEM044"],
    );
}

#[test]
fn a_permanent_failure_owns_what_it_holds() {
    says(
        "#[failure(permanent)] A(u8, Option<&'static str>)",
        "IDEM049",
        "such as `String` for `&str`",
    );
}

#[test]
fn a_class_is_a_name_of_its_own() {
    says(
        "#[failure(permanent, class = \"Sure\")] A",
        "IDEM045",
        "`Sure` has the class `Sure`",
    );
    says(
        "#[failure(permanent, class = \"\")] A",
        "IDEM046",
        "is blank",
    );
    says(
        "#[failure(permanent, class = \" a\")] A",
        "IDEM046",
        "write `a`",
    );
    says(
        "#[failure(permanent, class = \"a\\tb\")] A",
        "IDEM046",
        "cannot contain a control character",
    );
    says(
        &format!("#[failure(permanent, class = \"{}\")] A", "c".repeat(256)),
        "IDEM046",
        "at most 255",
    );
    let raw = format!(
        "enum E {{ #[failure(permanent)] r#Same, #[failure(permanent, class = \"Same\")] A, {REPLAYED} }}"
    );
    faults(&raw, &["IDEM045"]);
}

#[test]
fn words_are_checked_where_they_stand() {
    says(
        "#[failure(permanant)] A",
        "IDEM021",
        "did you mean `permanent`?",
    );
    says(
        "#[failure(permanent, tag = \"a\")] A",
        "IDEM021",
        "did you mean `class = \"declined\"`?",
    );
    says(
        "#[failure(permanent, permanent)] A",
        "IDEM022",
        "given twice",
    );
    says(
        "#[failure(permanent)] #[failure(permanent)] A",
        "IDEM022",
        "given twice",
    );
    says(
        "#[failure(permanent = true)] A",
        "IDEM023",
        "`permanent` is written `permanent`",
    );
    says(
        "#[failure(permanent, class = a)] A",
        "IDEM023",
        "put it in quotes",
    );
    says(
        "#[failure(permanent, class)] A",
        "IDEM023",
        "`class = \"declined\"`",
    );
    says("#[failure] A", "IDEM023", "this attribute is empty");
    says("#[failure()] A", "IDEM023", "this attribute is empty");
    says(
        "#[failure = \"permanent\"] A",
        "IDEM023",
        "this attribute is empty",
    );
    says(
        "#[failure(\"permanent\")] A",
        "IDEM023",
        "such as `permanent`",
    );
    says(
        "#[failure(class = \"a\")] A",
        "IDEM031",
        "write `permanent` before `class`",
    );
    says(
        "#[failure(database)] A(sqlx::Error)",
        "IDEM031",
        "write `permanent`",
    );
    says("#[failure(crate = idem)] A", "IDEM047", "goes on the enum");
    says("A(#[failure(permanent)] u8)", "IDEM047", "not on a field");
    let enumeration =
        format!("#[failure(permanent)] enum E {{ #[failure(permanent)] A, {REPLAYED} }}");
    faults(&enumeration, &["IDEM047"]);
    faults(
        "enum E { #[failure(permanent)] A, #[failure(replayed, permanent, class = \"r\")] R(StoredFailure) }",
        &["IDEM031", "IDEM031"],
    );
}

#[test]
fn something_is_permanent() {
    let errors = faults(&format!("enum E {{ A, {REPLAYED} }}"), &["IDEM048"]);
    assert!(errors[0].contains("above each variant"), "{}", errors[0]);
    faults("enum E {}", &["IDEM042", "IDEM048"]);
}

#[test]
fn every_prefix_of_the_words_is_one_error_or_none() {
    for (words, held) in [
        ("permanent, class = \"declined\"", "u8"),
        ("permanent, database", "sqlx::Error"),
        ("crate = a::b", "u8"),
    ] {
        let tokens: TokenStream = words.parse().expect("tokens");
        for prefix in prefixes(&tokens) {
            let item = format!(
                "enum E {{ #[failure(permanent)] Sure, {REPLAYED}, #[failure({prefix})] A({held}) }}"
            );
            let expansion = derive(&item);
            assert!(
                expansion.errors.len() <= 1,
                "for `{prefix}`: {:#?}",
                expansion.errors
            );
            assert!(
                expansion
                    .pretty()
                    .contains("impl ::idem_runtime::Failure for E")
            );
        }
    }
}

#[test]
fn an_item_that_is_cut_off_never_panics() {
    let item = "#[failure(crate = a)] pub enum E<'a, T: Copy> where T: Send { #[failure(permanent)] A { code: T }, #[failure(replayed)] R(StoredFailure) }";
    for prefix in prefixes(&item.parse().expect("tokens")) {
        let expansion = read(crate::failure::derive(prefix.clone()));
        assert!(
            !expansion.items.is_empty() || expansion.errors.len() == 1,
            "for `{prefix}`"
        );
    }
}
