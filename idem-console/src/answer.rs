//! One request: who asks, may he, and the answer.

use std::future::Future;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest as _, OriginalUri, Request};
use axum::response::{IntoResponse as _, Response};
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{StatusCode, Uri};
use maud::Markup;
use tokio::time::timeout;

use crate::authorise::{Principal, Refused};
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::fields::Fields;
use crate::guard::form_token::{COOKIE_NAME, cookie, fresh_cookie};
use crate::guard::origin;
use crate::pages::layout::{self, Shown};
use crate::site::{Site, Visit};

/// A handler that shows a page.
macro_rules! read {
    ($page:path) => {
        |axum::extract::State(site): axum::extract::State<std::sync::Arc<Site<DB>>>,
         request: axum::extract::Request| { crate::answer::show(site, request, $page) }
    };
}

/// A handler that makes a change.
macro_rules! change {
    ($change:path) => {
        |axum::extract::State(site): axum::extract::State<std::sync::Arc<Site<DB>>>,
         request: axum::extract::Request| { crate::answer::make(site, request, $change) }
    };
}

pub(crate) use {change, read};

/// A page, before its frame.
pub(crate) struct Page {
    pub(crate) title: &'static str,
    /// The path of its place in the navigation.
    pub(crate) place: &'static str,
    pub(crate) body: Markup,
}

/// Shows a page to whoever may read.
pub(crate) async fn show<DB, F, Fut>(site: Arc<Site<DB>>, request: Request, page: F) -> Response
where
    DB: ConsoleDatabase,
    F: FnOnce(Visit<DB>) -> Fut + Send,
    Fut: Future<Output = Result<Page, Fault>> + Send,
{
    let (parts, _) = request.into_parts();
    let entered = match enter(&site, &parts).await {
        Ok(entered) => entered,
        Err(response) => return response,
    };
    let query = parts.uri.query().unwrap_or_default();
    let visit = entered.visit(&site, Fields::parse(query.as_bytes()));
    let shown = entered.shown(&site);
    let page = match timeout(site.deadline, page(visit)).await {
        Ok(Ok(page)) => (StatusCode::OK, layout::page(&shown, &page)),
        Ok(Err(fault)) => (fault.status, layout::fault(&shown, &fault)),
        Err(_) => {
            let fault = Fault::late();
            (fault.status, layout::fault(&shown, &fault))
        }
    };
    entered.respond(&site, page.0, &page.1)
}

/// Makes a change for whoever may change, and sends the browser to the page that it returns. The change is ended even if the
/// browser hangs up.
pub(crate) async fn make<DB, F, Fut>(site: Arc<Site<DB>>, request: Request, change: F) -> Response
where
    DB: ConsoleDatabase,
    F: FnOnce(Visit<DB>) -> Fut + Send,
    Fut: Future<Output = Result<String, Fault>> + Send + 'static,
{
    let (parts, body) = request.into_parts();
    let entered = match enter(&site, &parts).await {
        Ok(entered) => entered,
        Err(response) => return response,
    };
    let made = async {
        let fields = allowed(&site, &parts, body, &entered).await?;
        let change = tokio::spawn(change(entered.visit(&site, fields)));
        match timeout(site.deadline, change).await {
            Ok(Ok(made)) => made,
            Ok(Err(_)) | Err(_) => Err(Fault::change_late()),
        }
    };
    match made.await {
        Ok(to) => {
            let to = HeaderValue::try_from(format!("{}{to}", entered.base));
            let to = to.unwrap_or(HeaderValue::from_static("/"));
            (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
        }
        Err(fault) => {
            let page = layout::fault(&entered.shown(&site), &fault);
            entered.respond(&site, fault.status, &page)
        }
    }
}

/// Returns the form if who asks may change, and one of his own pages has sent it.
async fn allowed<DB: ConsoleDatabase>(
    site: &Site<DB>,
    parts: &Parts,
    body: axum::body::Body,
    entered: &Entered,
) -> Result<Fields, Fault> {
    if !entered.principal.can_change() {
        return Err(Fault::forbidden(
            "You may read, and change nothing. Nothing was changed.",
        ));
    }
    let forged = || {
        Fault::forbidden("The form is not one of this console's pages for you. Nothing was changed.")
            .mend("Open the page again and send its form: this process may have been started anew, or you may have signed in anew.")
    };
    if !origin::is_own(parts, site.origin.as_deref()) {
        return Err(forged());
    }
    let Some(cookie) = cookie(&parts.headers) else {
        return Err(forged());
    };
    let form = parts
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("application/x-www-form-urlencoded"));
    if !form {
        return Err(Fault::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "A change is sent as a form. Nothing was changed.",
        ));
    }
    // Its extensions hold the limit of the body.
    let mut request = Request::new(body);
    *request.extensions_mut() = parts.extensions.clone();
    let body = Bytes::from_request(request, &()).await;
    let body = body.map_err(|rejected| {
        Fault::new(
            rejected.status(),
            "The form cannot be read: it may be too large. Nothing was changed.",
        )
    })?;
    let fields = Fields::parse(&body);
    if !site
        .secret
        .is_token(fields.get("token"), &cookie, &entered.principal)
    {
        return Err(forged());
    }
    Ok(fields)
}

/// Somebody who may read.
struct Entered {
    principal: Principal,
    base: String,
    cookie: String,
    is_fresh: bool,
    token: String,
}

/// Asks the authoriser. Returns the response if nothing may be shown.
async fn enter<DB: ConsoleDatabase>(site: &Site<DB>, parts: &Parts) -> Result<Entered, Response> {
    let base = base(site.base.as_deref(), parts);
    let asked = timeout(site.deadline, site.authoriser.authorise(parts)).await;
    let principal = match asked.unwrap_or(Err(Refused::unavailable())) {
        Ok(principal) => principal,
        Err(refused) => return Err(refuse(&base, &refused)),
    };
    let known = cookie(&parts.headers);
    let is_fresh = known.is_none();
    let cookie = known.unwrap_or_else(fresh_cookie);
    Ok(Entered {
        token: site.secret.token(&cookie, &principal),
        principal,
        base,
        cookie,
        is_fresh,
    })
}

impl Entered {
    fn visit<DB: ConsoleDatabase>(&self, site: &Arc<Site<DB>>, fields: Fields) -> Visit<DB> {
        Visit {
            site: Arc::clone(site),
            principal: self.principal.clone(),
            base: self.base.clone(),
            token: self.token.clone(),
            fields,
        }
    }

    fn shown<'a, DB: ConsoleDatabase>(&'a self, site: &'a Site<DB>) -> Shown<'a> {
        Shown {
            base: &self.base,
            principal: &self.principal,
            table: site.operator.table_name(),
            database: Site::<DB>::database(),
            has_outbox: site.outbox.is_some(),
            has_handlers: site.shows_handlers,
        }
    }

    fn respond<DB: ConsoleDatabase>(
        &self,
        site: &Site<DB>,
        status: StatusCode,
        page: &Markup,
    ) -> Response {
        let mut response = html(status, page);
        if self.is_fresh {
            let secure = if site.has_secure_cookie {
                "; Secure"
            } else {
                ""
            };
            let path = if self.base.is_empty() {
                "/"
            } else {
                &self.base
            };
            let cookie = format!(
                "{COOKIE_NAME}={}; Path={path}; HttpOnly; SameSite=Strict{secure}",
                self.cookie
            );
            if let Ok(cookie) = HeaderValue::try_from(cookie) {
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
        }
        response
    }
}

fn html(status: StatusCode, page: &Markup) -> Response {
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    let headers = [(header::CONTENT_TYPE, kind)];
    (status, headers, page.0.clone()).into_response()
}

fn refuse(base: &str, refused: &Refused) -> Response {
    let mut response = html(refused.status, &layout::refused(base, refused.status));
    let headers = response.headers_mut();
    if let Some(challenge) = &refused.challenge {
        headers.insert(header::WWW_AUTHENTICATE, challenge.clone());
    }
    if let Some(location) = &refused.location {
        headers.insert(header::LOCATION, location.clone());
    }
    response
}

/// Returns the path at which the browser sees the console: what a router around this one has taken off the front.
fn base(fixed: Option<&str>, parts: &Parts) -> String {
    if let Some(fixed) = fixed {
        return fixed.to_owned();
    }
    let original = parts.extensions.get::<OriginalUri>();
    let original = original.map_or(parts.uri.path(), |OriginalUri(uri)| uri.path());
    nested_at(original, &parts.uri)
}

fn nested_at(original: &str, inner: &Uri) -> String {
    let base = original
        .strip_suffix(inner.path())
        // `/idem` is the inner `/`.
        .or_else(|| (inner.path() == "/").then_some(original))
        .unwrap_or_default();
    // A path of two slashes would be the address of another host, and a semicolon would end the path of the cookie.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~%".contains(&byte);
    if base.starts_with("//") || !base.bytes().all(is_plain) {
        return String::new();
    }
    base.trim_end_matches('/').to_owned()
}

/// Returns the style sheet: it is the same for everybody.
pub(crate) async fn style() -> Response {
    let kind = HeaderValue::from_static("text/css; charset=utf-8");
    let sheet = include_str!("style.css");
    ([(header::CONTENT_TYPE, kind)], sheet).into_response()
}

/// What is asked for is nowhere, or not by this method.
pub(crate) async fn nowhere<DB: ConsoleDatabase>(_: Visit<DB>) -> Result<Page, Fault> {
    Err(Fault::not_found("There is no such page."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_what_a_router_around_has_taken() {
        for (original, inner, base) in [
            ("/search", "/search", ""),
            ("/", "/", ""),
            ("/idem/search", "/search", "/idem"),
            ("/idem", "/", "/idem"),
            ("/a/b/", "/", "/a/b"),
            ("//evil.example/search", "/search", ""),
            ("/a;Domain=example/search", "/search", ""),
        ] {
            let inner = inner.parse().expect("a path");
            assert_eq!(nested_at(original, &inner), base, "{original}");
        }
    }
}
