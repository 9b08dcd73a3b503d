//! A browser without a window: it keeps the cookie, and reads the token of a form.

use std::cell::RefCell;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::header::{self, HeaderMap};
use http::request::Parts;
use http::{Method, Request, StatusCode};
use idem_console::{Console, Principal, Refused};
use idem_tests::patience::in_time;
use tower::ServiceExt as _;

use crate::subject::Subject;

/// The host that the client asks.
pub(crate) const HOST: &str = "ops.example";

/// Whoever says in a header who he is, is: `name` and the rights, `ada change reveal`.
pub(crate) fn authorise(request: &Parts) -> Result<Principal, Refused> {
    let who = request
        .headers
        .get("who")
        .ok_or(Refused::unauthenticated())?;
    let mut words = who.to_str().expect("text").split(' ');
    let name = words.next().unwrap_or_default();
    let mut principal = Principal::new(name).map_err(|_| Refused::forbidden())?;
    for right in words {
        principal = match right {
            "change" => principal.may_change(),
            "reveal" => principal.may_reveal(),
            session => principal.session(session),
        };
    }
    Ok(principal)
}

/// A console with a patience that no test outlasts.
pub(crate) fn console<S: Subject>(subject: &S) -> Console<S::Db> {
    Console::new(subject.pool().clone(), authorise).deadline(Duration::from_mins(2))
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn page(self) -> String {
        assert_eq!(self.status, StatusCode::OK, "{self:?}");
        self.body
    }

    /// Asserts the status and a part of the sentence.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, sentence: &str) -> Self {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        assert!(self.body.contains(sentence), "{sentence}: {self:?}");
        self
    }

    /// Returns where a change sends the browser.
    #[track_caller]
    pub(crate) fn sent_to(&self) -> &str {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{self:?}");
        self.headers[header::LOCATION].to_str().expect("text")
    }
}

pub(crate) struct Client {
    router: Router,
    who: &'static str,
    cookie: RefCell<Option<String>>,
}

impl Client {
    pub(crate) fn new(router: Router, who: &'static str) -> Self {
        Self {
            router,
            who,
            cookie: RefCell::new(None),
        }
    }

    /// A client of a console as it is by itself, with all rights.
    pub(crate) fn of<S: Subject>(subject: &S) -> Self {
        Self::new(console(subject).router(), "ada change reveal")
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path), String::new())
            .await
    }

    /// Begins a request as the browser would.
    pub(crate) fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", HOST)
            .header("who", self.who);
        if let Some(cookie) = &*self.cookie.borrow() {
            request = request.header("cookie", cookie);
        }
        request
    }

    /// Sends a request, and keeps the cookie of its answer.
    pub(crate) async fn send(&self, request: http::request::Builder, body: String) -> Answer {
        let request = request.body(Body::from(body)).expect("a request");
        let answer = in_time("an answer", self.router.clone().oneshot(request)).await;
        let answer = answer.expect("an answer");
        let (parts, body) = answer.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body");
        if let Some(cookie) = parts.headers.get(header::SET_COOKIE) {
            let cookie = cookie.to_str().expect("text");
            let cookie = cookie.split(';').next().expect("a pair").to_owned();
            *self.cookie.borrow_mut() = Some(cookie);
        }
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.into()).expect("text"),
        }
    }

    /// Opens a page, fills in the form that is sent to `action`, and sends it.
    pub(crate) async fn fill(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> Answer {
        let page = self.get(page).await.page();
        let form = form(&page, action).unwrap_or_else(|| panic!("no form {action}: {page}"));
        let mut all = hidden(form);
        all.extend(
            fields
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let encoded = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(all)
            .finish();
        self.post(action, encoded).await
    }

    /// Sends a form as a page of the console does.
    pub(crate) async fn post(&self, path: &str, form: String) -> Answer {
        let request = self
            .request(Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", format!("https://{HOST}"))
            .header("sec-fetch-site", "same-origin");
        self.send(request, form).await
    }
}

/// Returns the form of a page that is sent to `action`.
pub(crate) fn form<'p>(page: &'p str, action: &str) -> Option<&'p str> {
    let forms = page.split("<form").skip(1);
    let mut forms = forms.filter_map(|form| form.split("</form>").next());
    forms.find(|form| form.contains(&format!("action=\"{action}\"")))
}

/// Returns the hidden fields of a form.
pub(crate) fn hidden(form: &str) -> Vec<(String, String)> {
    let inputs = form.split("<input type=\"hidden\"").skip(1);
    let attribute = |input: &str, name: &str| {
        let after = input
            .split(&format!("{name}=\""))
            .nth(1)
            .expect("an attribute");
        let text = after.split('"').next().expect("its end");
        text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&amp;", "&")
    };
    inputs
        .map(|input| (attribute(input, "name"), attribute(input, "value")))
        .collect()
}

/// Encodes the address of a record's page.
pub(crate) fn record(scope: &str, key: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("namespace", "payments"), ("scope", scope), ("key", key)])
        .finish();
    format!("/record?{query}")
}
