//! The board: each panel shows something of a program that runs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use idem_tests::patience::in_time;
use serde_json::Value;

use crate::program::Program;
use crate::server::Prometheus;
use crate::{metrics_in, promtool, read};

/// The title of each panel, with one of its expressions.
fn panels() -> Vec<(String, String)> {
    let board: Value = serde_json::from_str(&read("metrics/board.json")).expect("JSON");
    let panels = board["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| {
        let title = panel["title"].as_str().expect("a title").to_owned();
        let targets = panel["targets"].as_array().into_iter().flatten();
        targets.map(move |target| {
            (
                title.clone(),
                target["expr"].as_str().expect("text").to_owned(),
            )
        })
    });
    targets.collect()
}

/// The expression as Grafana sends it.
fn sent(expression: &str) -> String {
    expression
        .replace("$__rate_interval", "10s")
        .replace("$namespace", ".*")
}

#[test]
fn each_expression_of_the_board_is_well_formed() {
    let panels = panels();
    assert!(panels.len() >= 20, "only {} expressions", panels.len());
    let mut rules = "groups:\n  - name: board\n    rules:\n".to_owned();
    for (number, (_, expression)) in panels.iter().enumerate() {
        let quoted = serde_json::to_string(&sent(expression)).expect("text");
        writeln!(
            rules,
            "      - record: board:panel:{number}\n        expr: {quoted}"
        )
        .expect("a string takes all");
    }
    let file = tempfile::Builder::new()
        .suffix(".yml")
        .tempfile()
        .expect("a file");
    fs::write(file.path(), rules).expect("it can be written");
    promtool(&["check", "rules", file.path().to_str().expect("text")]);
}

#[tokio::test(flavor = "current_thread")]
async fn each_panel_shows_something_and_each_metric_of_the_alerts_is_there() {
    let mut program = Program::start().await;
    let recorded = program.recorded();
    let _guard = metrics::set_default_local_recorder(recorded.recorder());
    program.work().await;
    let text = recorded.text();
    let scraped: BTreeSet<_> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    for name in metrics_in(&read("metrics/alerts.yml")) {
        assert!(scraped.contains(&*name), "no metric {name} in:\n{text}");
    }
    let prometheus = Prometheus::scraping(program.listen().await).await;
    let mut empty = panels();
    let shown = async {
        while !empty.is_empty() {
            program.work().await;
            let mut still_empty = Vec::new();
            for (title, expression) in empty.drain(..) {
                if prometheus.query(&sent(&expression)).await.is_empty() {
                    still_empty.push((title, expression));
                }
            }
            empty = still_empty;
        }
    };
    if tokio::time::timeout(std::time::Duration::from_secs(45), shown)
        .await
        .is_err()
    {
        panic!("these panels stay empty: {empty:#?}\n{}", recorded.text());
    }
    in_time("the server has scraped", async {
        while prometheus.query("up == 1").await.is_empty() {}
    })
    .await;
}
