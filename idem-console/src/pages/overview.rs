//! What needs somebody, and what has happened in the last hours.

use idem_messaging::outbox::OutboxHealth;
use idem_runtime::operate::{LeaseHealth, PurgeHealth, process_counts};
use maud::{Markup, html};

use super::text::{ago, bounded, number, span};
use super::{hours, listing};
use crate::answer::Page;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::site::Visit;

/// The hours that the overview looks back.
const HOURS: u32 = 24;

pub(crate) async fn page<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<Page, Fault> {
    let site = &visit.site;
    let leases = site.operator.lease_health().await?;
    let purge = site.operator.purge_health().await?;
    let outbox = match &site.outbox {
        Some(outbox) => Some(outbox.health(&site.pool).await?),
        None => None,
    };
    let counted = site.operator.hours(HOURS).await?;
    let oldest = site.operator.oldest_in_flight(5).await?;
    let base = &visit.base;
    let body = html! {
        h1 { "Overview" }
        section aria-labelledby="now" {
            h2 id="now" { "Now" }
            (cards(base, &leases, &purge, outbox.as_ref()))
        }
        @if site.shows_process { (process()) }
        section aria-labelledby="hours" {
            h2 id="hours" { "Last 24 hours" }
            (hours::hours(&counted))
        }
        section aria-labelledby="flight" {
            h2 id="flight" { "Oldest in flight" }
            @if oldest.is_empty() {
                p.none { "No attempt holds a lease. A call in a transaction of its own leaves no record before its end." }
            } @else {
                (listing::records(base, "Leases, the oldest attempts first", &oldest))
            }
        }
    };
    Ok(Page {
        title: "Overview",
        place: "/",
        body,
    })
}

/// A number that a page explains.
struct Card {
    name: &'static str,
    path: &'static str,
    value: String,
    note: String,
    needs_somebody: bool,
}

fn cards(
    base: &str,
    leases: &LeaseHealth,
    purge: &PurgeHealth,
    outbox: Option<&OutboxHealth>,
) -> Markup {
    let since = |at: Option<_>, word: &str| match at {
        Some(at) => format!("{word} {}", ago(at, leases.read_at)),
        None => String::new(),
    };
    let mut cards = vec![
        Card {
            name: "Unknown outcomes",
            path: "/unknown",
            value: bounded(leases.unknown, leases.is_cut),
            note: since(leases.oldest_unknown, "the oldest began"),
            needs_somebody: leases.unknown > 0,
        },
        Card {
            name: "Lapsed leases",
            path: "/unknown",
            value: bounded(leases.lapsed, leases.is_cut),
            note: since(leases.first_lapse, "the first"),
            needs_somebody: leases.lapsed > 0,
        },
        Card {
            name: "In flight, under a lease",
            path: "/health",
            value: bounded(leases.live, leases.is_cut),
            note: since(leases.oldest_live, "the oldest began"),
            needs_somebody: false,
        },
        Card {
            name: "To be purged",
            path: "/health",
            value: bounded(purge.expired, purge.is_cut),
            note: since(purge.oldest, "the first expired"),
            needs_somebody: purge.is_cut,
        },
    ];
    if let Some(outbox) = outbox {
        cards.push(Card {
            name: "Events to publish",
            path: "/outbox",
            value: bounded(
                outbox.pending,
                outbox.is_cut && outbox.pending >= outbox.dead,
            ),
            note: match outbox.oldest_age {
                Some(age) => format!("the oldest waits for {}", span(age)),
                None => "none is overdue".to_owned(),
            },
            needs_somebody: false,
        });
        cards.push(Card {
            name: "Dead events",
            path: "/outbox",
            value: bounded(outbox.dead, outbox.is_cut && outbox.dead >= outbox.pending),
            note: String::new(),
            needs_somebody: outbox.dead > 0,
        });
    }
    html! {
        ul.cards {
            @for card in cards {
                li.bad[card.needs_somebody] {
                    a href={ (base) (card.path) } { (card.name) }
                    p.value { (card.value) }
                    @if !card.note.is_empty() { p.ago { (card.note) } }
                }
            }
        }
    }
}

/// What only this process knows.
fn process() -> Markup {
    let counts = process_counts();
    html! {
        section aria-labelledby="process" {
            h2 id="process" { "Calls of this process, since it started" }
            (listing::pairs(vec![
                ("Replays", Some(html! { (number(counts.replayed)) })),
                ("Conflicts: another request under the key", Some(html! { (number(counts.mismatched)) })),
                ("Refused: another attempt at work", Some(html! { (number(counts.in_flight)) })),
                ("Runs", Some(html! { (number(counts.executed)) })),
            ]))
            p.hint { "Replays and conflicts write nothing: other processes count their own." }
        }
    }
}
