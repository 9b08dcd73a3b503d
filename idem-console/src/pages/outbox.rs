//! The outbox: how it is, what is paused, and what was set aside.

use std::collections::BTreeSet;

use idem_messaging::outbox::DeadEvent;
use idem_runtime::record::Timestamp;
use maud::{Markup, html};

use super::forms::form;
use super::listing::{pairs, table};
use super::text::{bounded, maybe_time, notice, span};
use crate::answer::Page;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::fields::query;
use crate::site::Visit;

/// The dead events of one page.
const SHOWN: u32 = 50;

pub(crate) async fn page<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<Page, Fault> {
    let site = &visit.site;
    let outbox = site.outbox()?;
    let before = match visit.fields.filled("before") {
        Some(before) => {
            let before = before.parse();
            let before = before.map_err(|_| Fault::bad("The place to list from is no number."))?;
            Some(Timestamp::from_micros(before))
        }
        None => None,
    };
    let health = outbox.health(&site.pool).await?;
    let paused = outbox.paused(&site.pool).await?;
    let dead = outbox.dead_events(&site.pool, before, SHOWN).await?;
    let count = |count| Some(html! { (bounded(count, health.is_cut && count >= 10_000)) });
    let body = html! {
        h1 { "Outbox" }
        (notice(visit.fields.get("done")))
        section aria-labelledby="health" {
            h2 id="health" { "Now" }
            (pairs(vec![
                ("To publish", count(health.pending)),
                ("Dead", count(health.dead)),
                ("The oldest that is due waits for", Some(html! {
                    @if let Some(age) = health.oldest_age { (span(age)) } @else { span.none { "none" } }
                })),
            ]))
        }
        @if !paused.is_empty() {
            section aria-labelledby="paused" {
                h2 id="paused" { "Paused topics" }
                p { "Their events are held: nothing of them is published until they are resumed." }
                @for (index, topic) in paused.iter().enumerate() {
                    h3 { code { (topic) } }
                    @if visit.principal.can_change() {
                        (form(&visit, &format!("resume-{index}"), "/outbox/resume", "Resume the topic", &html! {
                            input type="hidden" name="topic" value=(topic);
                        }))
                    }
                }
            }
        }
        section aria-labelledby="dead" {
            h2 id="dead" { "Dead events" }
            @if dead.is_empty() {
                p.none { "None." }
            } @else {
                (events(&visit.base, &dead))
                @if dead.len() == SHOWN as usize && let Some(last) = dead.last().and_then(|event| event.summary.settled_at) {
                    p { a.button href={ (visit.base) "/outbox?" (query([("before", &*last.as_micros().to_string())])) } { "Older ones" } }
                }
            }
        }
        @if visit.principal.can_change() { (topics(&visit, &dead)) }
    };
    Ok(Page {
        title: "Outbox",
        place: "/outbox",
        body,
    })
}

fn events(base: &str, dead: &[DeadEvent]) -> Markup {
    let heads = [
        "Event",
        "Topic",
        "Type",
        "Set aside",
        "Attempts",
        "Last error",
    ];
    let rows: Vec<_> = dead
        .iter()
        .map(|DeadEvent { summary, last_error, .. }| {
            // 64 digits are too wide for a table, and the first of them tell events apart.
            let short = summary.id.get(..12).unwrap_or(&summary.id);
            vec![
                html! { a href={ (base) "/event?" (query([("id", &*summary.id)])) } { code { (short) "…" } } },
                html! { code { (summary.topic) } },
                html! { code { (summary.event_type) } },
                maybe_time(summary.settled_at, summary.read_at),
                html! { (summary.attempts) },
                html! { (last_error.as_deref().unwrap_or_default()) },
            ]
        })
        .collect();
    table(
        "Events that were set aside, the newest first",
        &heads,
        &rows,
    )
}

/// A form for each topic that has dead events on this page.
fn topics<DB: ConsoleDatabase>(visit: &Visit<DB>, dead: &[DeadEvent]) -> Markup {
    let topics: BTreeSet<_> = dead.iter().map(|event| &*event.summary.topic).collect();
    html! {
        @if !topics.is_empty() {
            section aria-labelledby="requeue" {
                h2 id="requeue" { "Requeue all dead events of a topic" }
                p { "They get their attempts back, and a relay publishes them again. Open an event to requeue it alone." }
                @for (index, topic) in topics.into_iter().enumerate() {
                    h3 { code { (topic) } }
                    (form(visit, &format!("requeue-{index}"), "/outbox/requeue", "Requeue the topic", &html! {
                        input type="hidden" name="topic" value=(topic);
                    }))
                }
            }
        }
    }
}
