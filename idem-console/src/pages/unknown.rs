//! What waits for somebody: outcomes that nobody knows, and leases that have lapsed.

use idem_runtime::operate::{Filter, StoredStatus};
use maud::html;

use super::listing;
use super::text::notice;
use crate::answer::Page;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::site::Visit;

/// The most records of each kind that are shown.
const SHOWN: u32 = 100;

pub(crate) async fn page<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<Page, Fault> {
    let operator = &visit.site.operator;
    let filter = |statuses, lapsed| Filter {
        statuses,
        lapsed,
        limit: SHOWN,
        ..Filter::default()
    };
    let unknown = operator
        .list(&filter(vec![StoredStatus::UNKNOWN], false))
        .await?;
    let lapsed = operator.list(&filter(Vec::new(), true)).await?;
    let base = &visit.base;
    let body = html! {
        h1 { "Unknown outcomes" }
        (notice(visit.fields.get("done")))
        @for (id, name, hint, caption, records) in [
            (
                "unknown",
                "Unknown",
                "Nobody knows whether the effect happened. Open a record to resolve it: until then every retry is refused.",
                "Unknown outcomes, the oldest first",
                &unknown,
            ),
            (
                "lapsed",
                "Lapsed leases",
                "The attempt did not come back, and no caller has met the record since. Open one to resolve or release it.",
                "Lapsed leases, the oldest lapse first",
                &lapsed,
            ),
        ] {
            section aria-labelledby=(id) {
                h2 id=(id) { (name) }
                @if records.is_empty() {
                    p.none { "None." }
                } @else {
                    p { (hint) }
                    (listing::records(base, caption, records))
                    @if records.len() == SHOWN as usize {
                        p.hint { "The first " (SHOWN) " are shown." }
                    }
                }
            }
        }
    };
    Ok(Page {
        title: "Unknown outcomes",
        place: "/unknown",
        body,
    })
}
