//! One record: what is known of it, its attempt, what operators did, and what can be done.

use idem_runtime::IdempotencyKey;
use idem_runtime::operate::{PayloadForm, RecordDetail, RecordSummary};
use maud::{Markup, html};

use super::forms::{is_open, is_stuck, release, resolve};
use super::listing;
use super::text::{maybe_time, notice, number, on_lapse, record_path, scope, status, time};
use crate::answer::Page;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::site::Visit;

pub(crate) async fn page<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<Page, Fault> {
    let key = visit.fields.record_key()?;
    let reveals = visit.fields.has("reveal");
    if reveals && !visit.principal.can_reveal() {
        return Err(Fault::forbidden("You may not see payloads."));
    }
    let record = visit.site.operator.show(&key).await?;
    if reveals {
        let hash = key.key().parse::<IdempotencyKey>();
        let hash = hash.map(|key| key.short_hash()).unwrap_or_default();
        visit.log_reveal(visit.site.operator.table_name(), &hash);
    }
    // A record can be looked at though nobody can change it.
    let changes = visit
        .site
        .operator
        .changes_of(&key)
        .await
        .map_err(Fault::from);
    let none = || {
        Fault::not_found("The key has no record under this namespace and scope.").mend(
            "It was purged or forgotten, or no attempt has ended yet. Search for the key in other scopes.",
        )
    };
    let record = record.ok_or_else(none)?;
    let summary = &record.summary;
    let body = html! {
        h1 { "Record " code { (key.key()) } }
        (notice(visit.fields.get("done")))
        (facts(&visit, summary))
        section aria-labelledby="attempts" {
            h2 id="attempts" { "Attempt" }
            (attempt(summary))
        }
        section aria-labelledby="payloads" {
            h2 id="payloads" { "Payloads" }
            (payloads(&visit, &record, reveals))
        }
        (actions(&visit, summary))
        section aria-labelledby="changes" {
            h2 id="changes" { "Changes by operators" }
            @match &changes {
                Ok(rows) if rows.is_empty() => p.none { "None." },
                Ok(rows) => (listing::audit("What operators did to this record, the newest first", rows, Some(summary.read_at))),
                Err(fault) => {
                    p.fault { (fault.sentence) }
                    @if let Some(mend) = &fault.mend { p.hint { (mend) } }
                },
            }
        }
    };
    Ok(Page {
        title: "Record",
        place: "/search",
        body,
    })
}

fn facts<DB: ConsoleDatabase>(visit: &Visit<DB>, record: &RecordSummary) -> Markup {
    let key = &record.record_key;
    let kept = if record.is_expired() {
        html! { (maybe_time(record.expires_at, record.read_at)) ": the next purge deletes it" }
    } else {
        maybe_time(record.expires_at, record.read_at)
    };
    listing::pairs(vec![
        ("Status", Some(status(record))),
        ("Operation", Some(operation(visit, record))),
        ("Namespace", Some(html! { code { (key.namespace()) } })),
        ("Scope", Some(scope(key.scope()))),
        ("Written", Some(time(record.created_at, record.read_at))),
        ("Kept until", record.expires_at.map(|_| kept)),
    ])
}

/// Returns the operation, with a link to its handler if this program has it and the console shows it.
fn operation<DB: ConsoleDatabase>(visit: &Visit<DB>, record: &RecordSummary) -> Markup {
    let operation = &*record.operation;
    let path = visit
        .site
        .handler_path(record.record_key.namespace(), operation);
    html! {
        @if let Some(path) = path {
            a href={ (visit.base) (path) } { code { (operation) } }
        } @else {
            code { (operation) }
        }
    }
}

fn attempt(record: &RecordSummary) -> Markup {
    let earlier = record.attempt - 1;
    html! {
        (listing::pairs(vec![
            ("Number", Some(html! { (record.attempt) })),
            ("Id", Some(html! { code { (record.attempt_id) } })),
            ("Lease until", record.locked_until.map(|until| time(until, record.read_at))),
            ("When it lapses", record.locked_until.and(record.on_lapse).map(|policy| html! { (on_lapse(policy)) })),
            ("Key at the provider", record.locked_until.and(record.external_key()).map(|key| html! { code { (key) } })),
        ]))
        @if earlier > 0 {
            p.hint {
                (earlier) @if earlier == 1 { " attempt" } @else { " attempts" }
                " before this one ended without a result. A record keeps the last one only."
            }
        }
    }
}

fn payloads<DB: ConsoleDatabase>(
    visit: &Visit<DB>,
    record: &RecordDetail,
    reveals: bool,
) -> Markup {
    let summary = &record.summary;
    let payload = |bytes: &Option<Vec<u8>>, form, length: Option<u64>| match (bytes, form, length) {
        (_, _, Some(0)) => Some(html! { "not kept: it was too large; only its hash is" }),
        (Some(bytes), Some(PayloadForm::Json), _) if reveals => {
            Some(html! { pre tabindex="0" { (String::from_utf8_lossy(bytes)) } })
        }
        // The console has no keys.
        (Some(bytes), _, _) if reveals => {
            Some(html! { (bytes.len()) " bytes, encrypted or compressed: not shown" })
        }
        (_, _, Some(length)) => Some(html! { (number(length)) " bytes, hidden" }),
        _ => None,
    };
    let [request, result, failure] = record.forms();
    let all = [
        (
            "Request",
            payload(&record.request, request, summary.request_bytes),
        ),
        (
            "Result",
            payload(&record.result, result, summary.result_bytes),
        ),
        (
            "Failure",
            payload(&record.failure, failure, summary.failure_bytes),
        ),
    ];
    let is_hidden = !reveals && all.iter().any(|(_, payload)| payload.is_some());
    // A plain hash confirms a guess of the request.
    let fingerprint = record.fingerprint.map(|hash| {
        if reveals {
            html! { code { (hash) } }
        } else {
            html! { "hidden" }
        }
    });
    let mut shown = vec![("Hash of the request", fingerprint)];
    shown.extend(all);
    html! {
        (listing::pairs(shown))
        @if is_hidden && visit.principal.can_reveal() {
            p { a.button href={ (visit.base) (record_path(&summary.record_key)) "&reveal=yes#payloads" } { "Show the payloads" } }
        } @else if is_hidden {
            p.hint { "You may not see payloads." }
        }
    }
}

fn actions<DB: ConsoleDatabase>(visit: &Visit<DB>, record: &RecordSummary) -> Markup {
    let (is_open, is_stuck) = (is_open(record), is_stuck(record));
    html! {
        @if (is_open || is_stuck) && !visit.principal.can_change() {
            p.hint { "Somebody who may change records can settle this one." }
        } @else {
            @if is_open {
                section aria-labelledby="resolve" {
                    h2 id="resolve" { "Resolve" }
                    p { "Look the effect up where it would have happened; then say what became of it." }
                    (resolve(visit, record))
                }
            }
            @if is_stuck {
                section aria-labelledby="release" {
                    h2 id="release" { "Release" }
                    (release(visit, record))
                }
            }
        }
    }
}
