//! The JSON-RPC 2.0 edge of idem for [jsonrpsee](https://docs.rs/jsonrpsee): finds the key of each call, and returns refusals
//! as error objects.
//!
//! - A call brings its key in its parameters, `"_meta": {"dev.idem/idempotencyKey": "8e03978e-40d5"}`. The name can be
//!   changed, and that of Elarion is accepted: [`idem_runtime::meta`]. Each call of a batch has a key of its own; two calls
//!   with one key are two calls of one intent, and the second is answered by a replay.
//! - [`Module`] registers methods by the marker type of their handler.
//! - [`IdempotencyLayer`] is the middleware of the RPC server. [`HeaderLayer`], of its HTTP server, adds the header
//!   `Idempotency-Key` for requests that make one call.
//! - [`Refusal`] is the error object of a refusal. [`CODES`] has its codes.
//! - [`answer`] says in the `_meta` of a result that it is a replay.
//! - `openrpc` (feature `openrpc`) describes the methods in an OpenRPC document, and which of them take a key.
//!
//! ```
//! use idem_jsonrpc::{HeaderLayer, Module};
//! use jsonrpsee::server::middleware::rpc::RpcServiceBuilder;
//! use jsonrpsee::server::{Server, ServerHandle};
//!
//! async fn serve(module: Module<sqlx::SqlitePool>) -> std::io::Result<ServerHandle> {
//!     let server = Server::builder()
//!         // Your authentication stands before it, and puts a `Scope` into the extensions.
//!         .set_http_middleware(tower::ServiceBuilder::new().layer(HeaderLayer::new()))
//!         .set_rpc_middleware(RpcServiceBuilder::new().layer(module.layer()))
//!         .build("127.0.0.1:0")
//!         .await?;
//!     Ok(server.start(module.into_rpc_module()))
//! }
//! ```
//!
//! # Where a key is not read
//!
//! - In parameters by position, which have no place for it. Use the header, or parameters by name.
//! - In a notification: jsonrpsee runs no method for one.
//! - In a call of a method without a handler of this library: it is passed on as it is.
//!
//! # Scope and rights
//!
//! A replay is returned without running the body of a handler. Therefore authenticate and authorise before it, on every
//! call, and put the account or tenant as [`Scope`](idem_runtime::Scope) into the extensions of the HTTP request or of the
//! call. A key without a scope is refused.

mod answer;
mod header;
mod key;
mod layer;
mod members;
mod method;
mod module;
#[cfg(feature = "openrpc")]
pub mod openrpc;
mod refusal;

pub use idem_runtime::meta::MetaNames;

pub use self::answer::answer;
pub use self::header::{HeaderLayer, HeaderService, Syntax};
pub use self::key::{KeyArgument, Presence, key};
pub use self::layer::{IdempotencyLayer, IdempotencyService};
pub use self::method::Registered;
pub use self::module::{Call, Module};
pub use self::refusal::{CODES, Refusal};
