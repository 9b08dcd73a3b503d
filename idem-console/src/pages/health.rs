//! How leases and purge are.

use maud::html;

use super::listing::{self, pairs};
use super::text::{bounded, maybe_time};
use crate::answer::Page;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::site::Visit;

/// The attempts that are shown.
const SHOWN: u32 = 20;

pub(crate) async fn page<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<Page, Fault> {
    let operator = &visit.site.operator;
    let leases = operator.lease_health().await?;
    let purge = operator.purge_health().await?;
    let oldest = operator.oldest_in_flight(SHOWN).await?;
    let now = leases.read_at;
    let count = |count| Some(html! { (bounded(count, leases.is_cut)) });
    let body = html! {
        h1 { "Leases and purge" }
        section aria-labelledby="leases" {
            h2 id="leases" { "Leases" }
            (pairs(vec![
                ("Live", count(leases.live)),
                ("The oldest began", Some(maybe_time(leases.oldest_live, now))),
                ("Lapsed, and met by nobody yet", count(leases.lapsed)),
                ("The first lapsed", Some(maybe_time(leases.first_lapse, now))),
                ("Unknown", count(leases.unknown)),
                ("The oldest of them began", Some(maybe_time(leases.oldest_unknown, now))),
            ]))
            p.hint { "A lease that lapses means that its attempt crashed, or that its heartbeats did not reach the database." }
            @if !oldest.is_empty() {
                (listing::records(&visit.base, "Leases, the oldest attempts first", &oldest))
            }
        }
        section aria-labelledby="purge" {
            h2 id="purge" { "Purge" }
            (pairs(vec![
                ("Records to delete", Some(html! { (bounded(purge.expired, purge.is_cut)) })),
                ("The first expired", Some(maybe_time(purge.oldest, purge.read_at))),
            ]))
            p.hint {
                "A record is deleted by the next sweep of a " code { "PurgeWorker" } " after its retention. If the first has \
                 expired long ago, no worker runs, or its batches are too small. " code { "idem purge" } " deletes now."
            }
        }
    };
    Ok(Page {
        title: "Leases and purge",
        place: "/health",
        body,
    })
}
