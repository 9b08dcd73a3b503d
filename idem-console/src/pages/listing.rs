//! Tables and pairs. The roles say again what the elements are, because the narrow layout shows rows as blocks, and a browser
//! then takes them for no table.

use idem_runtime::operate::{AuditRow, RecordSummary};
use idem_runtime::record::Timestamp;
use maud::{Markup, html};

use super::text::{maybe_time, record_path, scope, status, time};

/// Returns a table. The first cell of a row is its header.
pub(crate) fn table(caption: &str, heads: &[&str], rows: &[Vec<Markup>]) -> Markup {
    html! {
        table role="table" {
            caption { (caption) }
            thead role="rowgroup" {
                tr role="row" {
                    @for head in heads { th scope="col" role="columnheader" { (head) } }
                }
            }
            tbody role="rowgroup" {
                @for row in rows {
                    tr role="row" {
                        @for (index, (head, cell)) in heads.iter().zip(row).enumerate() {
                            @if index == 0 {
                                th scope="row" role="rowheader" data-head=(head) { div { (cell) } }
                            } @else {
                                td role="cell" data-head=(head) { div { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns a list of names and values. What has no value is left out.
pub(crate) fn pairs(pairs: Vec<(&str, Option<Markup>)>) -> Markup {
    html! {
        dl.pairs {
            @for (name, value) in pairs {
                @if let Some(value) = value {
                    div { dt { (name) } dd { (value) } }
                }
            }
        }
    }
}

/// Returns records as a table, each with the link to its page.
pub(crate) fn records(base: &str, caption: &str, records: &[RecordSummary]) -> Markup {
    let heads = [
        "Key",
        "Status",
        "Operation",
        "Namespace",
        "Scope",
        "Written",
        "Lease until",
    ];
    let rows: Vec<_> = records
        .iter()
        .map(|record| {
            let key = &record.record_key;
            vec![
                html! { a href={ (base) (record_path(key)) } { (key.key()) } },
                status(record),
                html! { code { (record.operation) } },
                html! { code { (key.namespace()) } },
                scope(key.scope()),
                time(record.created_at, record.read_at),
                maybe_time(record.locked_until, record.read_at),
            ]
        })
        .collect();
    table(caption, &heads, &rows)
}

/// Returns rows of the audit table.
pub(crate) fn audit(caption: &str, rows: &[AuditRow], now: Option<Timestamp>) -> Markup {
    let heads = ["When", "Who", "What", "Why", "Of", "Detail"];
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let at = html! { @if let Some(at) = row.at { (time(at, now.unwrap_or(at))) } };
            vec![
                at,
                html! {
                    (row.actor)
                    @if let Some(account) = &row.account { " " span.ago { "(account " (account) ")" } }
                },
                html! { (row.action) },
                html! { (row.reason) },
                of(row),
                html! { code { (row.detail) } },
            ]
        })
        .collect();
    table(caption, &heads, &rows)
}

/// Returns what was changed.
fn of(row: &AuditRow) -> Markup {
    html! {
        @if let Some(id) = &row.event_id {
            "event " code { (id) }
        } @else if let Some(key) = &row.key {
            code { (row.namespace.as_deref().unwrap_or_default()) } " "
            @if let Some(scope) = row.scope.as_deref().filter(|scope| !scope.is_empty()) { code { (scope) } " " }
            code { (key) }
        } @else if let Some(scope) = &row.scope {
            code { (scope) }
        } @else {
            code { (row.on_table) }
        }
    }
}
