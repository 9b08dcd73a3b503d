//! One handler: its policy, its function, and what it takes and returns.

use idem_runtime::registry::Handler;
use maud::{Markup, html};

use super::words;
use crate::answer::Page;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::pages::listing::pairs;
use crate::site::Visit;

pub(crate) async fn page<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<Page, Fault> {
    let (namespace, operation) = (visit.fields.get("namespace"), visit.fields.get("operation"));
    let mut found = super::of(namespace, operation);
    let none = || {
        Fault::not_found("No handler of this program has this operation.")
            .mend("It may be another program's, have another name by now, or have its operation named by each call.")
    };
    let handler = found.next().ok_or_else(none)?;
    let others: Vec<_> = found.collect();
    let body = html! {
        h1 { "Handler " code { (operation) } }
        @for other in &others {
            p.fault role="alert" {
                "Another handler has the same operation, so a key that was used with one would replay the result of the other: "
                code { (other) }
            }
        }
        (policy(handler))
        (types(handler))
    };
    Ok(Page {
        title: "Handler",
        place: "/handlers",
        body,
    })
}

fn policy(handler: &Handler) -> Markup {
    let policy = handler.policy();
    pairs(vec![
        ("Namespace", Some(html! { code { (handler.namespace()) } })),
        ("Function", Some(html! { code { (handler) } })),
        ("Key", Some(html! { (words::key(handler)) })),
        ("Mode", Some(html! { (words::mode(policy)) })),
        (
            "When the lease lapses",
            words::lapse(policy).map(|lapse| html! { (lapse) }),
        ),
        (
            "A call of a running key",
            Some(html! { (words::on_conflict(policy)) }),
        ),
        ("Request", Some(html! { (words::request(policy)) })),
        (
            "Result",
            Some(html! { "recorded if it has at most " (words::bytes(policy.result_limit)) }),
        ),
        (
            "Failures recorded",
            Some(html! { (words::failures(policy)) }),
        ),
        ("Kept for", Some(html! { (words::time(policy.retention)) })),
        (
            "A record that is older",
            Some(html! { (words::expiry(policy)) }),
        ),
    ])
}

#[cfg(not(feature = "schemars"))]
fn types(_: &Handler) -> Markup {
    Markup::default()
}

/// Returns the parameters, and the schemas of request and result.
#[cfg(feature = "schemars")]
fn types(handler: &Handler) -> Markup {
    use crate::pages::listing::table;

    let rows: Vec<_> = handler
        .parameters()
        .iter()
        .map(|parameter| {
            let compared = if parameter.is_compared() { "yes" } else { "no" };
            vec![
                html! { code { (parameter.name()) } },
                html! { code { (parameter.written_type()) } },
                html! { (compared) },
            ]
        })
        .collect();
    let schema = |schema| html! { pre tabindex="0" { (format!("{schema:#}")) } };
    html! {
        section aria-labelledby="request" {
            h2 id="request" { "Request" }
            @if rows.is_empty() {
                p.none { "The handler takes nothing beside its key." }
            } @else {
                (table("Parameters", &["Name", "Type", "Compared by itself"], &rows))
                (schema(handler.request_schema()))
            }
        }
        section aria-labelledby="result" {
            h2 id="result" { "Result" }
            @if let Some(result) = handler.result_schema() {
                (schema(result))
            } @else {
                p.none { "Its type has no schema." }
            }
        }
    }
}
