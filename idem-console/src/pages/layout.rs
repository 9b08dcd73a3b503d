//! The frame of every page.

use http::StatusCode;
use maud::{DOCTYPE, Markup, html};

use crate::answer::Page;
use crate::authorise::Principal;
use crate::fault::Fault;

/// What the frame shows.
pub(crate) struct Shown<'a> {
    pub(crate) base: &'a str,
    pub(crate) principal: &'a Principal,
    pub(crate) table: &'a str,
    pub(crate) database: &'static str,
    pub(crate) has_outbox: bool,
    pub(crate) has_handlers: bool,
}

const PLACES: [(&str, &str); 7] = [
    ("/", "Overview"),
    ("/search", "Search"),
    ("/unknown", "Unknown outcomes"),
    ("/outbox", "Outbox"),
    ("/health", "Leases and purge"),
    ("/handlers", "Handlers"),
    ("/changes", "Changes"),
];

/// Returns a page in its frame.
pub(crate) fn page(shown: &Shown<'_>, page: &Page) -> Markup {
    framed(shown, page.title, page.place, &page.body)
}

/// Returns a page that says why there is no other.
pub(crate) fn fault(shown: &Shown<'_>, fault: &Fault) -> Markup {
    let title = title(fault.status);
    let body = html! {
        h1 { (title) }
        div.fault role="alert" {
            p { (fault.sentence) }
            @if let Some(mend) = &fault.mend {
                p { (mend) }
            }
        }
    };
    framed(shown, title, "", &body)
}

/// Returns the page of somebody who may see none.
pub(crate) fn refused(base: &str, status: StatusCode) -> Markup {
    let sentence = match status {
        StatusCode::UNAUTHORIZED | StatusCode::SEE_OTHER => "Sign in to see this console.",
        StatusCode::SERVICE_UNAVAILABLE => "It cannot be found out now who you are. Try again.",
        _ => "You may not see this console.",
    };
    document(
        base,
        title(status),
        &html! {
            main id="main" {
                h1 { (title(status)) }
                div.fault role="alert" { p { (sentence) } }
            }
        },
    )
}

fn title(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => "Not allowed",
        StatusCode::CONFLICT => "Not changed",
        StatusCode::SERVICE_UNAVAILABLE => "Not available",
        status if status.is_server_error() => "The database cannot serve this",
        status if status.is_redirection() => "Sign in",
        _ => "Not understood",
    }
}

fn framed(shown: &Shown<'_>, title: &str, place: &str, body: &Markup) -> Markup {
    let principal = shown.principal;
    let places = PLACES.iter().filter(|(path, _)| match *path {
        "/outbox" => shown.has_outbox,
        "/handlers" => shown.has_handlers,
        _ => true,
    });
    document(
        shown.base,
        title,
        &html! {
            a.skip href="#main" { "Skip to the content" }
            header.top {
                a.brand href=(address(shown.base, "/")) { "idem" }
                nav aria-label="Pages" {
                    ul {
                        @for (path, name) in places {
                            li {
                                a href=(address(shown.base, path)) aria-current=[(*path == place).then_some("page")] { (name) }
                            }
                        }
                    }
                }
            }
            main id="main" tabindex="-1" { (body) }
            footer.bottom {
                p {
                    "Signed in as " strong { (principal.name()) } ": you may read"
                    @if principal.can_change() { ", change" }
                    @if principal.can_reveal() { ", see payloads" }
                    "."
                }
                p { "Table " code { (shown.table) } " on " (shown.database) ". Times are UTC." }
            }
        },
    )
}

/// Returns the address of a place. A router that is nested at `/idem` answers to that, and not to `/idem/`.
fn address(base: &str, path: &str) -> String {
    match (base, path) {
        ("", _) => path.to_owned(),
        (_, "/") => base.to_owned(),
        _ => format!("{base}{path}"),
    }
}

fn document(base: &str, title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (title) " – idem" }
                link rel="stylesheet" href={ (base) "/style.css" };
            }
            body { (body) }
        }
    }
}
