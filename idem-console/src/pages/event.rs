//! One event of the outbox.

use idem_messaging::outbox::{EventDetail, EventId, EventState};
use maud::{Markup, html};

use super::forms::form;
use super::listing::{self, pairs};
use super::text::{maybe_time, notice, number};
use crate::answer::Page;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::fields::query;
use crate::site::Visit;

pub(crate) async fn page<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<Page, Fault> {
    let id = event_id(visit.fields.get("id"))?;
    let reveals = visit.fields.has("reveal");
    if reveals && !visit.principal.can_reveal() {
        return Err(Fault::forbidden("You may not see payloads."));
    }
    let site = &visit.site;
    let found = site.outbox()?.show(&site.pool, &id).await?;
    let event = found.ok_or_else(|| {
        Fault::not_found("The outbox has no event of this id.")
            .mend("It was published and purged, or dropped.")
    })?;
    if reveals {
        visit.log_reveal("idem_outbox", id.as_str());
    }
    let changes = site
        .operator
        .changes_of_event(id.as_str())
        .await
        .map_err(Fault::from);
    let summary = &event.summary;
    let body = html! {
        h1 { "Event " code { (summary.id.get(..12).unwrap_or_default()) "…" } }
        (notice(visit.fields.get("done")))
        (facts(&event))
        section aria-labelledby="payloads" {
            h2 id="payloads" { "Payload" }
            (payload(&visit, &event, reveals))
        }
        @if summary.state == EventState::Dead && visit.principal.can_change() {
            section aria-labelledby="requeue" {
                h2 id="requeue" { "Requeue" }
                (form(&visit, "requeue", "/outbox/requeue", "Requeue the event", &html! {
                    p { "The event gets its attempts back, and a relay publishes it again." }
                    input type="hidden" name="id" value=(id.as_str());
                }))
            }
        }
        section aria-labelledby="changes" {
            h2 id="changes" { "Changes by operators" }
            @match &changes {
                Ok(rows) if rows.is_empty() => p.none { "None of this event alone." },
                Ok(rows) => (listing::audit("What operators did to this event, the newest first", rows, Some(summary.read_at))),
                Err(fault) => p.fault { (fault.sentence) },
            }
        }
    };
    Ok(Page {
        title: "Event",
        place: "/outbox",
        body,
    })
}

/// Reads the id of an event.
pub(crate) fn event_id(text: &str) -> Result<EventId, Fault> {
    let wrong = || Fault::bad("The id of an event has 64 lower-case hexadecimal digits.");
    EventId::parse(text.trim()).ok_or_else(wrong)
}

fn facts(event: &EventDetail) -> Markup {
    let summary = &event.summary;
    let now = summary.read_at;
    let class = match summary.state {
        EventState::Dead => "bad",
        EventState::Published => "good",
        EventState::Held | EventState::Waiting => "warn",
        _ => "live",
    };
    let code = |text: &str| html! { code { (text) } };
    pairs(vec![
        (
            "State",
            Some(html! { span class={ "mark " (class) } { (summary.state) } }),
        ),
        (
            "Last error",
            event.last_error.as_ref().map(|error| html! { (error) }),
        ),
        ("Attempts", Some(html! { (summary.attempts) })),
        ("Topic", Some(code(&summary.topic))),
        ("Type", Some(code(&summary.event_type))),
        ("Source", Some(code(&summary.source))),
        ("Subject", summary.subject.as_deref().map(code)),
        ("Partition", summary.partition_key.as_deref().map(code)),
        ("Appended", Some(maybe_time(summary.appended_at, now))),
        ("Due", summary.due_at.map(|at| maybe_time(Some(at), now))),
        (
            "Published or set aside",
            summary.settled_at.map(|at| maybe_time(Some(at), now)),
        ),
        ("Number", Some(html! { (summary.seq) })),
        ("Id", Some(code(&summary.id))),
    ])
}

fn payload<DB: ConsoleDatabase>(visit: &Visit<DB>, event: &EventDetail, reveals: bool) -> Markup {
    html! {
        @if reveals {
            (pairs(vec![
                ("Headers", event.headers.as_ref().map(|headers| html! { pre tabindex="0" { (headers) } })),
                ("Payload", Some(html! { pre tabindex="0" { (String::from_utf8_lossy(&event.payload)) } })),
            ]))
        } @else {
            p { (number(event.summary.payload_bytes)) " bytes, hidden" }
            @if visit.principal.can_reveal() {
                p { a.button href={ (visit.base) "/event?" (query([("id", &*event.summary.id), ("reveal", "yes")])) "#payloads" } { "Show headers and payload" } }
            } @else {
                p.hint { "You may not see payloads." }
            }
        }
    }
}
