//! HTTP itself: methods, the header of the key, and statuses.

use std::collections::HashSet;

use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_RANGE,
    HeaderMap, HeaderName, HeaderValue, UPGRADE,
};
use http::{Method, Response, StatusCode, Uri, request, response};
use idem_runtime::http::Problem;
use idem_runtime::policy::OnLapse;
use idem_runtime::{Error, IdempotencyKey};

use super::{Keep, Protocol, WholeUri};
use crate::body::Buffered;
use crate::header;
use crate::response::{ToResponse as _, set_replayed};

/// The options of a layer that only HTTP has: its methods, and how statuses are judged.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    pub(super) methods: HashSet<Method>,
    /// The user's function, which replaces the default.
    pub(super) keep: Option<fn(StatusCode) -> Keep>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            methods: HashSet::from([Method::POST, Method::PATCH]),
            keep: None,
        }
    }
}

impl<U: WholeUri> Protocol for U {
    type Options = HttpOptions;

    const CODING: HeaderName = CONTENT_ENCODING;

    /// RFC 9110, section 8; `Content-Type` is compared as parsed.
    const OF_THE_BODY: &'static [HeaderName] = &[CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_RANGE];

    /// A router serves `HEAD` by the handler of `GET`.
    fn protects(options: &HttpOptions, request: &request::Parts) -> bool {
        let (methods, method) = (&options.methods, &request.method);
        methods.contains(method) || (*method == Method::HEAD && methods.contains(&Method::GET))
    }

    fn key(request: &request::Parts, is_required: bool) -> Result<Option<IdempotencyKey>, Error> {
        let keyed = header::keyed(request, None);
        if is_required {
            keyed.key().map(Some)
        } else {
            keyed.optional_key()
        }
    }

    fn uri(request: &request::Parts) -> &Uri {
        U::whole_uri(request)
    }

    /// Removes what asks for an upgrade, and asks for no encoding.
    fn ask_for_what_can_be_recorded(request: &mut HeaderMap) {
        request.remove(UPGRADE);
        request.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }

    fn judge(options: &HttpOptions, response: &response::Parts, on_lapse: OnLapse) -> Option<Keep> {
        Some(match options.keep {
            Some(keep) => keep(response.status),
            None => Keep::by_default(response.status, on_lapse),
        })
    }

    fn judge_at_end(
        _: &HttpOptions,
        response: &response::Parts,
        _: Option<&HeaderMap>,
        on_lapse: OnLapse,
    ) -> Keep {
        Keep::by_default(response.status, on_lapse)
    }

    fn refusal(_: &HttpOptions, error: &Error) -> Response<Buffered> {
        error.to_response()
    }

    fn problem(_: &HttpOptions, problem: Problem) -> Response<Buffered> {
        problem.to_response()
    }

    fn mark_replayed(response: &mut Response<Buffered>) {
        set_replayed(response.headers_mut());
    }
}
