//! What operators have changed.

use maud::html;

use super::listing;
use crate::answer::Page;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::site::Visit;

/// The changes that are shown.
const SHOWN: u32 = 100;

pub(crate) async fn page<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<Page, Fault> {
    let operator = &visit.site.operator;
    let rows = operator.latest_changes(SHOWN).await?;
    let body = html! {
        h1 { "Changes" }
        @if rows.is_empty() {
            p.none { "No operator has changed anything." }
        } @else {
            (listing::audit("What operators have changed, the newest first", &rows, None))
            p.hint { "The last " (SHOWN) ". The table " code { (operator.audit_table()) } " has all." }
        }
    };
    Ok(Page {
        title: "Changes",
        place: "/changes",
        body,
    })
}
