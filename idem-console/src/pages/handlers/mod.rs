//! The handlers of this program, as its registry has them.

mod one;
mod words;

use idem_runtime::registry::{self, Handler};
use maud::{Markup, html};

pub(crate) use self::one::page as one;
use super::listing::table;
use super::text::handler_path;
use crate::answer::Page;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::site::Visit;

pub(crate) async fn page<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<Page, Fault> {
    let mut handlers: Vec<_> = registry::handlers().collect();
    handlers.sort_by_key(|handler| {
        let place = (handler.module(), handler.line());
        (handler.namespace(), handler.operation(), place)
    });
    let heads = [
        "Operation",
        "Namespace",
        "Key",
        "Kept for",
        "Mode",
        "Call of a running key",
        "Function",
    ];
    let rows: Vec<_> = handlers
        .iter()
        .map(|handler| row(&visit.base, handler))
        .collect();
    let body = html! {
        h1 { "Handlers" }
        @if let Err(shared) = registry::check() {
            div.fault role="alert" { pre tabindex="0" { (shared) } }
        }
        @if rows.is_empty() {
            p.none { "No handler is linked into this program." }
        } @else {
            (table("Handlers of this program, by namespace and operation", &heads, &rows))
        }
        p.hint {
            "These are the functions with the attribute " code { "#[idempotent]" } " that are linked into this program. \
             Other programs that write into the table have handlers of their own."
        }
    };
    Ok(Page {
        title: "Handlers",
        place: "/handlers",
        body,
    })
}

/// Returns the handlers of this operation: more than one share it.
pub(crate) fn of<'n>(
    namespace: &'n str,
    operation: &'n str,
) -> impl Iterator<Item = &'static Handler> + use<'n> {
    registry::handlers().filter(move |handler| {
        handler.namespace() == namespace && handler.operation() == Some(operation)
    })
}

fn row(base: &str, handler: &Handler) -> Vec<Markup> {
    let policy = handler.policy();
    vec![
        html! {
            @if let Some(operation) = handler.operation() {
                a href={ (base) (handler_path(handler.namespace(), operation)) } { (operation) }
            } @else {
                span.none { "named by each call" }
            }
        },
        html! { code { (handler.namespace()) } },
        html! { (words::key(handler)) },
        html! { (words::time(policy.retention)) },
        html! { (words::mode(policy)) },
        html! { (words::on_conflict(policy)) },
        html! { code { (handler.function()) } },
    ]
}
