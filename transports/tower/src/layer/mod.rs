//! A tower layer that replays whole responses, for services that have no transaction.
//!
//! Prefer `#[idempotent]` on a handler that takes a transaction: there the effect and its record
//! commit together. This layer is for effects outside the database, typically calls to another service's
//! API. It runs the inner service in [lease mode](idem_runtime::lease), detached from the client's connection.
//! What is said here of methods, headers and statuses is HTTP's; a [`Protocol`] on HTTP decides it in its own way, as
//! `idem_tonic::layer` does for gRPC.
//!
//! The steps, in this order:
//!
//! 1. A request with a method that requires no key passes through. `POST` and `PATCH` require one; if `GET`
//!    does, `HEAD` does too, because routers serve it by the same handler.
//! 2. The key is read as [`header`](super::header) describes. A request without a key is refused, or passed
//!    through if [`optional_key`](IdempotencyLayer::optional_key) allows it.
//! 3. The scope function returns the scope of the key. If it returns `None`, the request is refused.
//! 4. The body is read, up to a limit, and the request is compared with the first one of the key.
//! 5. The key is claimed. A duplicate gets the recorded response, 409 or 422.
//! 6. The inner service runs in a separate task: a client that disconnects does not stop it. Among the extensions of its request is
//!    the [`Attempt`](idem_runtime::Attempt), whose [`external_key`](idem_runtime::Attempt::external_key) it gives to its provider.
//! 7. Its response is recorded, or returned with the key released or its outcome unknown, depending on
//!    its status ([`keep`](IdempotencyLayer::keep)).
//!
//! # What is compared
//!
//! - Method, whole path ([`WholeUri`]) and query.
//! - Under [`Scope::GLOBAL`](idem_runtime::Scope::GLOBAL) the host too: `:authority` or `Host`, not what a proxy adds.
//! - `Content-Type`, as parsed: case, order of parameters, quotes and the `charset=utf-8` of JSON and of
//!   URL-encoded forms make no difference.
//! - `Content-Encoding`, `Content-Language`, `Content-Location`, `Content-Range`, and the headers of
//!   [`compare_headers`](IdempotencyLayer::compare_headers). All values of a header, in their order.
//! - The body. JSON is compared by its canonical form. Multipart is compared without its boundary, which
//!   clients create anew for each attempt: the parts in their order, each with its headers (name, file name,
//!   type) and bytes. Other bodies are compared byte for byte: decompress in an outer layer, because two
//!   compressions may differ.
//!
//! Trailers of a request are neither compared nor handed on to the inner service.
//!
//! A multipart body is refused with 400 at the first call if it is compressed, or if its boundary is
//! ambiguous (lines that do not end with CRLF, a boundary inside a part, none at the end): a retry could not
//! be told from a different request.
//!
//! # What is recorded
//!
//! The status, headers, the whole body and trailers. A body of undeclared length is recorded if it ends
//! [in time](IdempotencyLayer::response_timeout). The first caller gets the inner service's response, with
//! its body read into memory; a replay is the recorded response, with `Idempotent-Replayed: true`. Headers
//! that outer layers add are added to both.
//!
//! All headers are recorded, at most 64 KiB of them, except:
//!
//! - those of the connection (RFC 9110, section 7.6.1), which can never be recorded: `Connection` and the
//!   headers it names, `Content-Length` (except for `HEAD`), `HTTP2-Settings`, `Keep-Alive`, `Proxy-Authenticate`,
//!   `Proxy-Authentication-Info`, `Proxy-Connection`, `TE`, `Transfer-Encoding`, `Upgrade`, `Via`, and the
//!   layer's own `Idempotent-Replayed`;
//! - those of the moment: `Age`, `Alt-Svc`, `Cache-Status`, `CF-Ray`, `Date`, `Server`, `Server-Timing`,
//!   `Traceparent`, `Traceresponse`, `Tracestate`, `X-Amz-Cf-Id`, `X-Amz-Id-2`, `X-Cache`,
//!   `X-Cloud-Trace-Context`, `X-Process-Time`, `X-Response-Time`, `X-Runtime`, `X-Served-By`, `X-Timer`,
//!   `X-Trace`, and names that contain one of these: `correlation-id`, `quota`, `rate-limit`, `ratelimit`,
//!   `request-id`, `requestid`, `span-id`, `trace-id`, `x-b3-`;
//! - those that hold secrets: names that contain `api-key`, or have one of these words between their
//!   hyphens: `apikey`, `auth`, `authentication`, `authorization`, `cookie`, `cookie2`, `csrf`, `jwt`, `nonce`,
//!   `passwd`, `password`, `secret`, `session`, `sessionid`, `token`, `tokens`, `xsrf`. `Set-Cookie` is one of
//!   them. A lost session can be created again, but a session that is stored in a table, and returned to
//!   everyone who has the key, cannot be revoked.
//!
//! [`record_headers`](IdempotencyLayer::record_headers), [`omit_headers`](IdempotencyLayer::omit_headers) and
//! [`headers`](IdempotencyLayer::headers) change this. Use a `CorsLayer` as an outer layer, where it also covers
//! refusals: an inner one is replayed with the origin of the first request.
//!
//! # Responses that cannot be recorded
//!
//! A response cannot be recorded if it does not end in time (server-sent events), is over the limit, breaks
//! off, upgrades the connection, or has a `Content-Encoding` (compress in an outer layer). To avoid the last
//! two, the inner service gets a request without `Upgrade`, and with `Accept-Encoding: identity`. A response
//! is never truncated: the client gets `response-not-storable`. Because the effect has happened but its
//! response is not recorded, the key's outcome is *unknown* until it is [settled by hand](idem_runtime::lease).
//!
//! # Responses that leave the outcome open
//!
//! A 502, a 504 or any other 5xx, or a 408, does not say whether the effect happened. Neither does an error
//! that the inner service returns in place of a response. The operation decides, as it does for a lapsed
//! lease: under [`OnLapse::Retry`](idem_runtime::policy::OnLapse::Retry) the key is released and a retry runs the service again, under
//! [`OnLapse::Unknown`](idem_runtime::policy::OnLapse::Unknown) the outcome is unknown and must be settled by hand.
//!
//! # Order of layers
//!
//! Put the layer inside authentication and authorisation, which must check replays too, and outside
//! everything that must happen once. Extractors of the inner handlers do not run on a replay: repeat their
//! checks in [`authorize_replay`](IdempotencyLayer::authorize_replay).
//!
//! Add it to single routes rather than around a router: a request without a key is otherwise refused for its missing
//! key before the router can say that it does not serve the method.

mod answer;
mod body;
mod flow;
mod http;
mod keep;
mod media_type;
mod multipart;
mod options;
mod problems;
mod protocol;
mod recorded;
mod replay_layer;
mod service;
mod stored;
mod subject;
mod whole_uri;

use std::time::Duration;

pub use self::http::HttpOptions;
pub use self::keep::Keep;
pub use self::protocol::Protocol;
pub use self::replay_layer::{IdempotencyLayer, ReplayLayer, Unscoped};
pub use self::service::IdempotencyService;
pub use self::whole_uri::{AsReceived, WholeUri};

/// The default limit of a request's or a response's body: 1 MiB.
pub const DEFAULT_BODY_LIMIT: usize = 1024 * 1024;

/// The default time in which a response's body must end: 30 seconds.
pub const DEFAULT_RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
