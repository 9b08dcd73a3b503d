//! Edits a refusal by the rules of a policy, unless an inner layer has edited it already.

use bytes::Bytes;
use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, Entry, HeaderMap, HeaderValue, LINK, LOCATION,
};
use http::response::Parts;
use http::{HeaderName, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt as _;
use idem_runtime::IdempotencyKey;
use idem_runtime::http::Problem;

use crate::body::{Buffered, MaybeBuffered};
use crate::options::{Documentation, InFlightAnswer, PolicyOptions};

/// An extension of a refusal that a policy has edited: outer policies leave it as it is.
#[derive(Clone)]
struct Settled;

/// The values that replace those of the library in the response.
struct Edit {
    status: StatusCode,
    link: Option<HeaderValue>,
    location: Option<HeaderValue>,
    content_type: &'static str,
    body: Vec<u8>,
}

/// A refusal whose body is to be read and replaced.
pub(crate) struct Editing<B> {
    edit: Edit,
    parts: Parts,
    body: B,
    ours: Vec<u8>,
}

/// Edits the response if it is a refusal. Returns `Err` if its body must be read for that.
pub(crate) fn begin<B: Body<Data = Bytes>>(
    options: &PolicyOptions,
    key: Option<&IdempotencyKey>,
    mut response: Response<B>,
) -> Result<Response<B>, Box<Editing<B>>> {
    let extensions = response.extensions_mut();
    let Some(problem) = extensions.get::<Problem>().cloned() else {
        return Ok(response);
    };
    if extensions.insert(Settled).is_some() {
        return Ok(response);
    }
    let edit = edit(options, key, &problem);
    let (mut parts, body) = response.into_parts();
    edit.apply(&mut parts, &problem);
    let ours = problem.to_json();
    if edit.body == ours || !may_be(&parts, &body, &ours) {
        return Ok(Response::from_parts(parts, body));
    }
    Err(Box::new(Editing {
        edit,
        parts,
        body,
        ours,
    }))
}

impl<B: Body<Data = Bytes>> Editing<B> {
    /// Returns the response with the new body if it had the library's body.
    pub(crate) async fn finish(self: Box<Self>) -> Response<MaybeBuffered<B>> {
        let Self {
            edit,
            mut parts,
            body,
            ours,
        } = *self;
        let (found, trailers) = match body.collect().await {
            Ok(collected) => {
                let trailers = collected.trailers().cloned();
                (collected.to_bytes(), trailers)
            }
            // The response was to have the library's length and type, but its body can no longer be read.
            Err(_) => (Bytes::from(ours.clone()), None),
        };
        let body = if trailers.is_some() || found != ours {
            Buffered::with_trailers(found, trailers)
        } else {
            let headers = &mut parts.headers;
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(edit.content_type));
            if let Entry::Occupied(mut length) = headers.entry(CONTENT_LENGTH) {
                length.insert(HeaderValue::from(edit.body.len()));
            }
            Buffered::from(edit.body)
        };
        Response::from_parts(parts, body.into())
    }
}

/// Returns the edits of these rules for the refusal.
fn edit(options: &PolicyOptions, key: Option<&IdempotencyKey>, problem: &Problem) -> Edit {
    let mut edited = problem.clone();
    let (own_type, own_documentation) = has_own(problem);
    if let Some(base) = options.type_base.as_ref().filter(|_| !own_type) {
        edited = edited.with_type_base(base);
    }
    if !own_documentation {
        edited = match &options.documentation {
            Documentation::Library => edited,
            Documentation::Page(url) => edited.with_documentation(url),
            Documentation::None => edited.without_documentation(),
        };
    }
    match (&*problem.code, &options.in_flight) {
        ("mismatch", _) => {
            if let Some(status) = options.mismatch {
                edited = edited.with_status(status);
            }
            if options.shows_differing {
                edited = edited.with_differing();
            }
        }
        ("in-flight", InFlightAnswer::TooEarly) => {
            edited = edited.with_status(StatusCode::TOO_EARLY);
        }
        ("in-flight", InFlightAnswer::Accepted(url)) => {
            // 202 says that this request is being processed: not if it waits for another key.
            let key = key.filter(|key| problem.is_in_flight(key));
            if let Some(accepted) = key.and_then(|key| accepted(url.of(key))) {
                return accepted;
            }
        }
        _ => {}
    }
    Edit {
        status: StatusCode::from_u16(edited.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        link: link(&edited),
        location: None,
        content_type: Problem::MEDIA_TYPE,
        body: edited.to_json(),
    }
}

/// Returns whether `type` or `documentation` differ from those that [`Problem::new`] sets.
fn has_own(problem: &Problem) -> (bool, bool) {
    let plain = Problem::new(problem.code.clone(), "", problem.status, "");
    (
        problem.type_uri != plain.type_uri,
        problem.documentation != plain.documentation,
    )
}

/// Returns the `Link` of the response.
fn link(problem: &Problem) -> Option<HeaderValue> {
    HeaderValue::try_from(problem.link()?).ok()
}

/// Returns 202 with the status URL as `Location` and in the body, or `None` if the URL is not a valid header value.
fn accepted(url: String) -> Option<Edit> {
    let body = serde_json::json!({ "code": "in-flight", "status_url": url });
    Some(Edit {
        status: StatusCode::ACCEPTED,
        link: None,
        location: Some(HeaderValue::try_from(url).ok()?),
        content_type: "application/json",
        body: body.to_string().into_bytes(),
    })
}

impl Edit {
    /// Edits everything except the body.
    fn apply(&self, parts: &mut Parts, problem: &Problem) {
        if parts.status == problem.status {
            parts.status = self.status;
        }
        if let Some(link) = link(problem) {
            replace(&mut parts.headers, &LINK, &link, self.link.as_ref());
        } else if let Some(link) = &self.link {
            parts.headers.append(LINK, link.clone());
        }
        if let Some(location) = &self.location {
            let entry = parts.headers.entry(LOCATION);
            entry.or_insert_with(|| location.clone());
        }
    }
}

/// Replaces the value `old` of the header by `new`, or removes it. Other values stay.
fn replace(
    headers: &mut HeaderMap,
    name: &HeaderName,
    old: &HeaderValue,
    new: Option<&HeaderValue>,
) {
    let values: Vec<_> = headers.get_all(name).iter().cloned().collect();
    headers.remove(name);
    for value in values {
        match new {
            _ if value != *old => headers.append(name, value),
            Some(new) => headers.append(name, new.clone()),
            None => false,
        };
    }
}

/// Returns whether a response's body may equal `ours`, judged without reading it.
fn may_be(parts: &Parts, body: &impl Body, ours: &[u8]) -> bool {
    let headers = &parts.headers;
    let is_problem = headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value == Problem::MEDIA_TYPE);
    is_problem
        && !headers.contains_key(CONTENT_ENCODING)
        && body.size_hint().exact() == Some(ours.len() as u64)
}
