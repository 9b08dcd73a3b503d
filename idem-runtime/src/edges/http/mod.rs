//! The rules of the HTTP edge that depend on no framework: reading a key from a header, and describing a
//! refusal to a client.
//!
//! They follow the IETF draft *The Idempotency-Key HTTP Header Field*
//! (draft-ietf-httpapi-idempotency-key-header-07), RFC 8941 for the header's syntax and RFC 9457 for refusals,
//! and work on bytes, texts and numbers:
//!
//! - [`header`] reads the key from the lines of a request's headers.
//! - [`Problem`] describes an [`Error`](crate::Error) to the client: the members of the problem document,
//!   its status, and the seconds of `Retry-After`. Its `type` leads to [the page of problems](problems).
//! - [`KeyedRequest`] is the key of a whole request, in the scope of its caller.
//! - [`StatusDocument`] answers the question what has become of a key ([`status`](crate::status)).
//! - [`Error::status`](crate::Error::status) and [`retry_after`] return only the status and the `Retry-After`;
//!   [`CODES`] lists the status of each code.
//!
//! The edge of a framework is built on these: `idem-tower` (layers and policies for everything that speaks
//! `http::Request`), and on it `idem-axum` and `idem-actix`. No other crate can implement axum's traits for this crate's types, so those
//! impls are here, behind the feature `axum-core`: with it [`IdempotencyKey`](crate::IdempotencyKey) and `Option` of
//! it are extractors, and [`Error`](crate::Error), [`Problem`] and [`Replayable<T>`](crate::Replayable) are
//! responses. A crate for another framework defines an extension trait:
//!
//! ```
//! use idem_runtime::http::{KeyedRequest, Problem};
//! use idem_runtime::{Error, IdempotencyKey, Scope};
//!
//! /// Stands for a framework's response.
//! struct Response {
//!     status: u16,
//!     headers: Vec<(&'static str, String)>,
//!     body: Vec<u8>,
//! }
//!
//! trait ToResponse {
//!     fn to_response(&self) -> Response;
//! }
//!
//! impl ToResponse for Error {
//!     fn to_response(&self) -> Response {
//!         let problem = Problem::of(self);
//!         Response { status: problem.status, headers: problem.headers().collect(), body: problem.to_json() }
//!     }
//! }
//!
//! /// Returns the key of a request. The names of the headers are in lower case.
//! fn key(headers: &[(&str, &[u8])], tenant: &Scope) -> Result<IdempotencyKey, Error> {
//!     let lines = |name| headers.iter().filter(move |line| line.0 == name).map(|line| line.1);
//!     KeyedRequest { method: "POST", path: "/orders", lines, syntax: None, scope: Some(tenant) }.key()
//! }
//!
//! let tenant = Scope::new("acme")?;
//! assert_eq!(key(&[("idempotency-key", br#""8e03978e-40d5""#)], &tenant)?.as_str(), "8e03978e-40d5");
//! let refused = key(&[], &tenant).expect_err("no key").to_response();
//! assert_eq!(refused.status, 400);
//! assert!(refused.body.starts_with(b"{\"type\":") && refused.headers.len() == 3);
//! # Ok::<_, Error>(())
//! ```

#[cfg(feature = "axum-core")]
mod extract;
pub mod header;
mod problem;
pub mod problems;
mod request;
#[cfg(feature = "axum-core")]
mod respond;
mod status;
mod status_document;

pub use self::header::Syntax;
pub use self::problem::{DOCUMENTATION, Problem};
pub use self::request::KeyedRequest;
pub use self::status::{CODES, retry_after};
pub use self::status_document::StatusDocument;
