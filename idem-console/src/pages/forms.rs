//! Forms that change something, each with its token and a reason.

use idem_runtime::operate::RecordSummary;
use idem_runtime::operate::StoredStatus;
use idem_runtime::policy::OnLapse;
use maud::{Markup, html};

use crate::console::ConsoleDatabase;
use crate::site::Visit;

/// Returns a form that sends a change. `id` tells its fields from those of other forms of the page.
pub(crate) fn form<DB: ConsoleDatabase>(
    visit: &Visit<DB>,
    id: &str,
    action: &str,
    button: &str,
    content: &Markup,
) -> Markup {
    html! {
        form.change method="post" action={ (visit.base) (action) } {
            input type="hidden" name="token" value=(visit.token);
            (content)
            div.field {
                label for={ (id) "-reason" } { "Reason, for the audit table (required)" }
                input type="text" name="reason" id={ (id) "-reason" } required maxlength="4000" autocomplete="off";
            }
            button type="submit" { (button) }
        }
    }
}

/// The fields that say which record is meant, as it was read.
fn named(record: &RecordSummary) -> Markup {
    let key = &record.record_key;
    html! {
        input type="hidden" name="namespace" value=(key.namespace());
        input type="hidden" name="scope" value=(key.scope());
        input type="hidden" name="key" value=(key.key());
        input type="hidden" name="attempt" value=(record.attempt_id);
    }
}

/// Returns whether an outcome can be resolved.
pub(crate) fn is_open(record: &RecordSummary) -> bool {
    record.status == StoredStatus::UNKNOWN
        || (record.is_lapsed() && record.on_lapse != Some(OnLapse::Retry))
}

/// Returns whether a key can be released.
pub(crate) fn is_stuck(record: &RecordSummary) -> bool {
    record.status == StoredStatus::UNKNOWN
        || record.status == StoredStatus::CLAIMED
        || record.is_lapsed()
}

/// Returns the form that says what became of an effect.
pub(crate) fn resolve<DB: ConsoleDatabase>(visit: &Visit<DB>, record: &RecordSummary) -> Markup {
    let content = html! {
        (named(record))
        fieldset {
            legend { "What became of the effect?" }
            div.choice {
                input type="radio" name="outcome" id="completed" value="completed" required;
                label for="completed" { "It happened: every retry gets the result below." }
            }
            div.choice {
                input type="radio" name="outcome" id="failed" value="failed";
                label for="failed" { "It failed for good: every retry gets the failure below." }
            }
            div.choice {
                input type="radio" name="outcome" id="never" value="never-happened";
                label for="never" { "It never happened: the next caller runs the body." }
            }
        }
        div.field {
            label for="result" { "Result, as JSON, if it happened" }
            textarea name="result" id="result" rows="3" spellcheck="false" aria-describedby="result-hint" {}
            p.hint id="result-hint" { "It must decode as the handler's result." }
        }
        div.two {
            div.field {
                label for="class" { "Class of the failure, if it failed" }
                input type="text" name="class" id="class" autocomplete="off" spellcheck="false";
            }
            div.field {
                label for="message" { "Message of the failure" }
                input type="text" name="message" id="message" autocomplete="off";
            }
        }
        div.two {
            div.field {
                label for="data" { "Fields of the failure, as JSON" }
                input type="text" name="data" id="data" autocomplete="off" spellcheck="false";
            }
            div.field {
                label for="version" { "Version of the result or failure" }
                input type="number" name="version" id="version" min="1" max="65535" value="1" aria-describedby="version-hint";
                p.hint id="version-hint" { "The handler's result_version; 1 if it has none." }
            }
        }
    };
    form(visit, "resolve", "/record/resolve", "Resolve", &content)
}

/// Returns the form that frees a key.
pub(crate) fn release<DB: ConsoleDatabase>(visit: &Visit<DB>, record: &RecordSummary) -> Markup {
    let content = html! {
        (named(record))
        p { "The next caller runs the body, whether or not the effect has happened before." }
    };
    form(
        visit,
        "release",
        "/record/release",
        "Release the key",
        &content,
    )
}
