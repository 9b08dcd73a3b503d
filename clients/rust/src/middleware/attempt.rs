//! One attempt: the request, the redirects on its origin, and the answer's body.

use http::{Extensions, HeaderMap, Method, StatusCode, header};
use reqwest::{Request, Response, ResponseBuilderExt as _, Url};
use reqwest_middleware::{Error, Next as Below};

use super::redirect::{HOPS, same_origin, without_key};
use crate::attempts::Outcome;
use crate::error::ClientError;
use crate::key::{IDEMPOTENCY_KEY, Key};
use crate::policy::RetryPolicy;
use crate::whole;

/// Sends a request once, follows its redirects on the same origin, and reads the answer to its end.
pub(super) async fn attempt(
    policy: &RetryPolicy,
    key: &Key,
    mut request: Request,
    extensions: &mut Extensions,
    below: &Below<'_>,
) -> Outcome {
    let mut became_get = false;
    for _ in 0..=HOPS {
        let Some(copy) = request.try_clone() else {
            return Outcome::Stopped(ClientError::StreamingBody);
        };
        let has_key = request.headers().contains_key(IDEMPOTENCY_KEY);
        let sent = below.clone().run(copy, extensions);
        let sent = if has_key {
            sent.await
        } else {
            without_key(sent).await
        };
        let response = match sent {
            Ok(response) => response,
            Err(error) => return lost(error),
        };
        match target(&response) {
            Some(url) if same_origin(&url, response.url()) => {
                let (redirected, is_get) = redirected(request, url, response.status());
                (request, became_get) = (redirected, became_get | is_get);
            }
            Some(url) => {
                let origin = url.origin().ascii_serialization();
                let reason = format!("it leads to another origin, {origin}");
                return stopped(key, reason);
            }
            // What the GET is refused with is no refusal of the request, which was accepted.
            None if became_get && !response.status().is_success() => {
                let status = response.status();
                return Outcome::Lost(format!("the page of the answer said {status}").into());
            }
            None => return read(policy, key, response).await,
        }
    }
    stopped(key, format!("it is one of more than {HOPS}"))
}

fn stopped(key: &Key, reason: String) -> Outcome {
    let key = key.clone();
    Outcome::Stopped(ClientError::Redirect { key, reason })
}

fn lost(error: Error) -> Outcome {
    let error = match error {
        // One of ours below has said what another attempt would not change.
        Error::Middleware(error) => match error.downcast::<ClientError>() {
            Ok(error) => return Outcome::Stopped(error),
            Err(error) => Error::Middleware(error),
        },
        error @ Error::Reqwest(_) => error,
    };
    let is_unsendable = error.is_builder();
    // The URL may hold personal data, and an error is logged.
    let source = error.without_url().into();
    if is_unsendable {
        return Outcome::Stopped(ClientError::Unsendable { source });
    }
    Outcome::Lost(source)
}

/// Returns where a response redirects to.
fn target(response: &Response) -> Option<Url> {
    let moved = [301, 302, 303, 307, 308].contains(&response.status().as_u16());
    let location = response.headers().get(header::LOCATION)?.to_str().ok()?;
    moved.then(|| response.url().join(location).ok())?
}

/// Returns the request that follows a redirect: the same one with its key, or a GET without, and whether it is the latter.
fn redirected(mut request: Request, url: Url, status: StatusCode) -> (Request, bool) {
    let becomes_get = status == StatusCode::SEE_OTHER
        || ([301, 302].contains(&status.as_u16()) && request.method() == Method::POST);
    *request.url_mut() = url;
    if becomes_get {
        *request.method_mut() = Method::GET;
        *request.body_mut() = None;
        leave_out(request.headers_mut());
    }
    (request, becomes_get)
}

/// Leaves out the key, and what describes a body.
fn leave_out(headers: &mut HeaderMap) {
    for name in [
        IDEMPOTENCY_KEY,
        header::CONTENT_TYPE,
        header::CONTENT_LENGTH,
        header::CONTENT_ENCODING,
        header::CONTENT_LANGUAGE,
        header::CONTENT_LOCATION,
        header::TRANSFER_ENCODING,
    ] {
        headers.remove(name);
    }
}

/// Reads the answer to its end. What is returned knows the URL that answered.
async fn read(policy: &RetryPolicy, key: &Key, response: Response) -> Outcome {
    let url = response.url().clone();
    let response = http::Response::<reqwest::Body>::from(response);
    let mut outcome = whole::read(response, policy.answer_limit, key).await;
    if let Outcome::Response(response) = &mut outcome
        && let Ok(named) = http::Response::builder().url(url).body(())
    {
        let (named, ()) = named.into_parts();
        response.extensions_mut().extend(named.extensions);
    }
    outcome
}
