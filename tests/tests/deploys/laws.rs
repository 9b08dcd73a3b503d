//! What holds between two builds, whatever the database and the way of the call.

use crate::node::{Node, answers, runs};

/// The ways of calling a handler.
const WAYS: [&str; 3] = ["pool", "joined", "leased"];

const V1: &str = r#"{"cents":12}"#;
const V1_UPCAST: &str = r#"{"amount":{"cents":12,"currency":"EUR"},"note":null}"#;
const V2: &str = r#"{"amount":{"cents":12,"currency":"EUR"},"note":"thanks"}"#;

/// Asserts a refusal that names both versions and asks for a retry.
#[track_caller]
fn assert_newer(answer: &str, recorded: u16, known: &str) {
    let begin = "refused retry 503 IncompatibleState(";
    let versions = format!("has version {recorded} of ");
    assert!(answer.starts_with(begin), "{answer}");
    assert!(answer.contains(&versions), "{answer}");
    assert!(
        answer.contains(&format!("of which this build reads {known};")),
        "{answer}"
    );
    assert!(
        answer.contains("the body did not run: try again with the same key"),
        "{answer}"
    );
}

pub(crate) async fn a_new_build_reads_what_the_old_one_recorded(url: &str) {
    for way in WAYS {
        let first = runs("old", url, way, way, 12).await;
        assert_eq!(first, format!("first {V1}"));
        for build in ["expanding", "new"] {
            let again = answers(build, url, way, way, 12).await;
            assert_eq!(again, format!("replayed {V1_UPCAST}"), "{build} {way}");
        }
        let declined = format!("{way}-declined");
        let first = runs("old", url, way, &declined, -5).await;
        assert_eq!(first, "first Declined { code: 5 }");
        for build in ["expanding", "new"] {
            let again = answers(build, url, way, &declined, -5).await;
            assert_eq!(again, r#"replayed Refused { reason: "code 5" }"#);
        }
        // Another request is a mismatch, whatever the version.
        let other = answers("new", url, way, way, 13).await;
        assert!(other.starts_with("refused final 422 Mismatch"), "{other}");
    }
}

pub(crate) async fn an_old_build_refuses_what_a_new_one_recorded_and_runs_nothing(url: &str) {
    for way in WAYS {
        assert_eq!(runs("new", url, way, way, 12).await, format!("first {V2}"));
        assert_newer(&answers("old", url, way, way, 12).await, 2, "version 1");
        let declined = format!("{way}-declined");
        let first = runs("new", url, way, &declined, -5).await;
        assert_eq!(first, r#"first Refused { reason: "code 5" }"#);
        let refused = answers("old", url, way, &declined, -5).await;
        assert_newer(&refused, 2, "version 1");
        assert!(refused.contains("PayErrorV1"), "{refused}");
        // The record is as it was.
        for build in ["expanding", "new"] {
            let again = answers(build, url, way, way, 12).await;
            assert_eq!(again, format!("replayed {V2}"));
            let again = answers(build, url, way, &declined, -5).await;
            assert_eq!(again, r#"replayed Refused { reason: "code 5" }"#);
        }
    }
}

/// The first caller gets what every retry gets, from builds of both kinds.
pub(crate) async fn an_expanding_build_writes_what_both_read(url: &str) {
    for way in WAYS {
        let first = runs("expanding", url, way, way, 12).await;
        assert_eq!(first, format!("first {V1_UPCAST}"), "the note is lost");
        let old = answers("old", url, way, way, 12).await;
        assert_eq!(old, format!("replayed {V1}"));
        let new = answers("new", url, way, way, 12).await;
        assert_eq!(new, format!("replayed {V1_UPCAST}"));
        let declined = format!("{way}-declined");
        let first = runs("expanding", url, way, &declined, -5).await;
        assert_eq!(first, r#"first Refused { reason: "code 5" }"#);
        let old = answers("old", url, way, &declined, -5).await;
        assert_eq!(old, "replayed Declined { code: 5 }");
    }
}

pub(crate) async fn an_older_version_holds_what_it_is_given_or_nothing_is_recorded(url: &str) {
    // The way down refuses.
    let refused = runs("expanding", url, "pool", "k", 999).await;
    assert!(
        refused.starts_with("refused final 500 NotStorable"),
        "{refused}"
    );
    assert!(refused.contains("its `downcast` refuses it"), "{refused}");
    // There is no way down, and the type of version 1 does not read the type of version 2.
    let refused = runs("careless", url, "pool", "k", 12).await;
    assert!(
        refused.starts_with("refused final 500 NotStorable"),
        "{refused}"
    );
    assert!(
        refused.contains("the older version that is written"),
        "{refused}"
    );
    // Nothing is recorded: the old build runs it.
    assert_eq!(
        runs("old", url, "pool", "k", 12).await,
        format!("first {V1}")
    );
    // The effect of a leased body has happened.
    let refused = runs("careless", url, "leased", "l", 12).await;
    assert!(
        refused.starts_with("refused final 500 NotStorable"),
        "{refused}"
    );
    let unknown = answers("old", url, "leased", "l", 12).await;
    assert!(
        unknown.starts_with("refused final 409 OutcomeUnknown"),
        "{unknown}"
    );
}

pub(crate) async fn a_chain_of_functions_reads_every_version_before(url: &str) {
    runs("old", url, "pool", "one", 12).await;
    runs("new", url, "pool", "two", 12).await;
    for key in ["one", "two"] {
        let again = answers("next", url, "pool", key, 12).await;
        assert_eq!(again, r#"replayed {"amount":"12 EUR"}"#, "{key}");
    }
    runs("next", url, "pool", "three", 12).await;
    let new = answers("new", url, "pool", "three", 12).await;
    assert_newer(&new, 3, "versions 1 to 2");
    assert_newer(
        &answers("old", url, "pool", "three", 12).await,
        3,
        "version 1",
    );
    // A function may refuse; the body is not run.
    runs("old", url, "pool", "odd", 13).await;
    let refused = answers("next", url, "pool", "odd", 13).await;
    assert!(
        refused.starts_with("refused final 500 IncompatibleState"),
        "{refused}"
    );
    assert!(refused.contains("and its upcast failed"), "{refused}");
}

pub(crate) async fn a_version_that_is_read_no_more_is_refused_for_good(url: &str) {
    runs("old", url, "pool", "one", 12).await;
    let refused = answers("contracted", url, "pool", "one", 12).await;
    assert!(
        refused.starts_with("refused final 500 IncompatibleState"),
        "{refused}"
    );
    assert!(refused.contains("has version 1 of "), "{refused}");
    assert!(refused.contains("this build reads version 2;"), "{refused}");
    let first = runs("contracted", url, "pool", "two", 12).await;
    assert_eq!(first, format!("first {V2}"));
    assert_eq!(
        answers("new", url, "pool", "two", 12).await,
        format!("replayed {V2}")
    );
}

/// It makes no difference whether the waiter came before the record or after it.
pub(crate) async fn whoever_waits_for_a_newer_build_is_refused_as_well(url: &str) {
    let mut first = Node::start("new", url, "pool", "k", 12);
    assert_eq!(first.line().await, "working");
    let (mut old, mut new) = (
        Node::start("old", url, "pool", "k", 12),
        Node::start("new", url, "pool", "k", 12),
    );
    assert_eq!(first.finish().await, format!("first {V2}"));
    assert_newer(&old.line().await, 2, "version 1");
    assert_eq!(new.line().await, format!("replayed {V2}"));
}
