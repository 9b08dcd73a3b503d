//! gRPC as a protocol of the layer that replays whole responses.

use std::collections::BTreeSet;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Response, Uri, request, response};
use idem_runtime::http::Problem;
use idem_runtime::policy::OnLapse;
use idem_runtime::{Error, IdempotencyKey};
use idem_tower::layer::Protocol;
use idem_tower::{Buffered, Keep};
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::keep::keep;
use crate::metadata::{self, IDEMPOTENT_REPLAYED};
use crate::refusal::Refusal;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// gRPC over HTTP/2, by the document *gRPC over HTTP2* (`PROTOCOL-HTTP2.md`) of the gRPC project.
#[derive(Debug, Clone, Copy)]
pub struct Grpc;

/// The options of a layer that only gRPC has: its methods, how codes are judged, and how refusals are changed.
#[derive(Debug, Clone, Default)]
pub struct GrpcOptions {
    /// The paths of the methods, or all.
    pub(super) methods: Option<BTreeSet<String>>,
    /// The user's function, which replaces the default.
    pub(super) keep: Option<fn(Code) -> Keep>,
    pub(super) refusals: Option<fn(Refusal) -> Refusal>,
}

impl GrpcOptions {
    fn keep(&self, code: Code, on_lapse: OnLapse) -> Keep {
        match self.keep {
            Some(keep) => keep(code),
            None => keep(code, on_lapse),
        }
    }

    /// Returns a response that is its trailers alone.
    fn respond(&self, refusal: Refusal) -> Response<Buffered> {
        let refusal = match self.refusals {
            Some(change) => change(refusal),
            None => refusal,
        };
        Status::from(refusal).into_http()
    }
}

impl Protocol for Grpc {
    type Options = GrpcOptions;

    const CODING: HeaderName = HeaderName::from_static("grpc-encoding");
    const OF_THE_BODY: &'static [HeaderName] = &[];

    /// Looks at the path alone, as tonic's servers do: they call the method for a `PUT` too.
    fn protects(options: &GrpcOptions, request: &request::Parts) -> bool {
        let methods = options.methods.as_ref();
        methods.is_none_or(|methods| methods.contains(request.uri.path()))
    }

    fn key(request: &request::Parts, is_required: bool) -> Result<Option<IdempotencyKey>, Error> {
        let sent = MetadataMap::from_headers(request.headers.clone());
        match metadata::key(&sent)? {
            None if is_required => Err(Error::KeyMissing {
                operation: request.uri.path().to_owned().into(),
            }),
            key => Ok(key),
        }
    }

    fn uri(request: &request::Parts) -> &Uri {
        &request.uri
    }

    /// Removes what asks for a compressed response.
    fn ask_for_what_can_be_recorded(request: &mut HeaderMap) {
        request.remove(GRPC_ACCEPT_ENCODING);
    }

    /// A head with a code other than `OK` is all of its response. After any other head, the code is among the trailers.
    fn judge(options: &GrpcOptions, response: &response::Parts, on_lapse: OnLapse) -> Option<Keep> {
        let code = code(&response.headers).filter(|code| *code != Code::Ok)?;
        Some(options.keep(code, on_lapse))
    }

    fn judge_at_end(
        options: &GrpcOptions,
        response: &response::Parts,
        trailers: Option<&HeaderMap>,
        on_lapse: OnLapse,
    ) -> Keep {
        options.keep(code_at_end(response, trailers), on_lapse)
    }

    fn refusal(options: &GrpcOptions, error: &Error) -> Response<Buffered> {
        options.respond(Refusal::of(error))
    }

    fn problem(options: &GrpcOptions, problem: Problem) -> Response<Buffered> {
        let code = match &*problem.code {
            // As gRPC's libraries answer to a message that is longer than their limit.
            "request-too-large" => Code::ResourceExhausted,
            "request-unreadable" => Code::InvalidArgument,
            "replay-forbidden" => Code::PermissionDenied,
            _ => Code::Internal,
        };
        options.respond(Refusal::of_problem(problem, code))
    }

    /// Marks the head. A client that reads an error knows only its trailers, which are then marked too.
    fn mark_replayed(response: &mut Response<Buffered>) {
        let (name, value) = (
            HeaderName::from_static(IDEMPOTENT_REPLAYED),
            HeaderValue::from_static("true"),
        );
        if let Some(trailers) = response.body_mut().trailers_mut()
            && code(trailers).is_some_and(|code| code != Code::Ok)
        {
            trailers.insert(name.clone(), value.clone());
        }
        response.headers_mut().insert(name, value);
    }
}

/// Returns the code in a head or in trailers. One that is no number is `UNKNOWN`.
fn code(headers: &HeaderMap) -> Option<Code> {
    Some(Code::from_bytes(headers.get(GRPC_STATUS)?.as_bytes()))
}

/// Returns the code of a whole response: that of its trailers, or of a head without trailers. A response without a code is no
/// answer of gRPC, and says nothing: `UNKNOWN`.
fn code_at_end(response: &response::Parts, trailers: Option<&HeaderMap>) -> Code {
    let by_trailers = trailers.and_then(code);
    let code = by_trailers.or_else(|| code(&response.headers));
    code.unwrap_or(Code::Unknown)
}
