//! The page to try the service with, and the page that explains its refusals; no build step.

use axum::response::Html;
use idem_axum::problems;

/// Returns the page: buttons, and the answer to each, side by side.
pub(crate) async fn page() -> Html<&'static str> {
    Html(include_str!("page.html"))
}

/// The page of the service's own refusals; the library brings its own page.
const OWN: &str = "
## already-escalated

Status 409. This version of the case was escalated before, by whomever.

## not-allowed

Status 403. The officer may not escalate cases, or no longer. This holds for a retry of what he did before, too: the answer is not
shown to him. Nothing was done.

## not-open

Status 409. There is no such case, or it is closed, or it has another version by now.

## no-receipt

Status 502. The notifier did not say what became of a notice. Ask again.

## unreadable

The body is not the JSON that is asked for.
";

/// Returns the page to which each `type` of a problem leads.
pub(crate) async fn problems() -> Html<String> {
    Html(html(problems::PAGE) + &html(OWN))
}

/// Converts the Markdown that the pages use: headings, each an anchor, and paragraphs.
fn html(markdown: &str) -> String {
    let escaped = markdown.replace('&', "&amp;").replace('<', "&lt;");
    let blocks = escaped.trim().split("\n\n").map(|block| {
        match (block.strip_prefix("## "), block.strip_prefix("# ")) {
            (Some(code), _) => format!("<h2 id=\"{code}\">{code}</h2>\n"),
            (_, Some(title)) => {
                format!("<!doctype html>\n<title>{title}</title>\n<h1>{title}</h1>\n")
            }
            _ => format!("<p>{block}</p>\n"),
        }
    });
    blocks.collect()
}
