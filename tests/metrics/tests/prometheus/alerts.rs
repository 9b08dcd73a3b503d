//! The alert rules: well-formed, tested, and explained.

use std::collections::BTreeSet;

use crate::{docs, promtool, read};

/// The names after `word` at the beginnings of lines.
fn named(text: &str, word: &str) -> BTreeSet<String> {
    let lines = text.lines().map(|line| line.trim_start_matches([' ', '-']));
    let names = lines.filter_map(|line| line.strip_prefix(word));
    names.map(|name| name.trim().to_owned()).collect()
}

#[test]
fn the_rules_are_well_formed_and_fire_when_they_should_and_only_then() {
    let path = |name: &str| docs(name).to_str().expect("text").to_owned();
    promtool(&["check", "rules", &path("metrics/alerts.yml")]);
    promtool(&["test", "rules", &path("metrics/alerts_test.yml")]);
}

#[test]
fn each_alert_has_a_test_and_a_section_of_the_page() {
    let alerts = named(&read("metrics/alerts.yml"), "alert: ");
    assert!(alerts.len() >= 9, "{alerts:?}");
    assert_eq!(
        alerts,
        named(&read("metrics/alerts_test.yml"), "alertname: ")
    );
    assert_eq!(alerts, named(&read("metrics.md"), "### "));
    let links = named(&read("metrics/alerts.yml"), "runbook_url: ");
    let sections: BTreeSet<_> = alerts
        .iter()
        .map(|alert| {
            format!(
                "\"https://docs.example.com/idem/metrics.md#{}\"",
                alert.to_lowercase()
            )
        })
        .collect();
    assert_eq!(links, sections);
}
