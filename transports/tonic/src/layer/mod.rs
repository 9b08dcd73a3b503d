//! A `tower` layer that replays whole answers of unary methods, for methods whose effect is not in your database (feature `layer`).
//!
//! Prefer `#[idempotent]` on a handler that takes a transaction: there the effect and its record commit together, and the
//! message is compared by what it says. This layer is for effects elsewhere, typically calls of another service. It
//! runs the method in [lease mode](idem_runtime::lease), detached from the client's connection. It is made on
//! [`idem_tower::layer`], and shares its mechanism; this page says what gRPC changes.
//!
//! The steps, in this order:
//!
//! 1. A method that the layer does not [cover](IdempotencyLayer::methods) passes through. By default it covers all.
//! 2. The key is read by the rules of [`metadata`](crate::metadata). A call without a key is refused, or passed through if
//!    [`optional_key`](IdempotencyLayer::optional_key) allows it.
//! 3. The scope function returns the scope of the key. If it returns `None`, the call is refused with `INTERNAL`.
//! 4. The request is read to its end, up to a limit, and compared with the first one of the key.
//! 5. The key is claimed. A duplicate gets the recorded answer, or a refusal with the status of
//!    [`Refusal`](crate::Refusal): `UNAVAILABLE` while the first call runs, `FAILED_PRECONDITION` for another request.
//! 6. The method runs in a separate task: a client that cancels the call, or whose deadline passes, does not stop it. Among the
//!    extensions of its request is the [`Attempt`](idem_runtime::Attempt), whose
//!    [`external_key`](idem_runtime::Attempt::external_key) it gives to its provider.
//! 7. Its answer is recorded, or returned with the key released or its outcome unknown, by its
//!    [code](IdempotencyLayer::keep).
//!
//! ```
//! use std::time::Duration;
//!
//! use idem_runtime::policy::OnLapse;
//! use idem_runtime::{LeasedOperation, Operation, Scope};
//! use idem_tonic::layer::IdempotencyLayer;
//! use tonic::service::{InterceptorLayer, Routes};
//! use tonic::transport::{Server, server::Router};
//! use tonic::{Request, Status};
//!
//! const CHARGE: LeasedOperation =
//!     Operation::new("shop", "grpc.charge").lease(Duration::from_secs(60), OnLapse::Unknown);
//!
//! /// Stands for your authentication.
//! fn authenticate(mut request: Request<()>) -> Result<Request<()>, Status> {
//!     let account = Scope::new("acme").map_err(|_| Status::unauthenticated("no account"))?;
//!     request.extensions_mut().insert(account);
//!     Ok(request)
//! }
//!
//! # fn serve(pool: sqlx::SqlitePool, shop: Routes) {
//! let charges = IdempotencyLayer::new(pool, CHARGE)
//!     .scope(|request| request.extensions.get::<Scope>().cloned())
//!     .methods(["/shop.v1.Shop/Charge"]);
//! let server = Server::builder()
//!     .layer(InterceptorLayer::new(authenticate)) // outermost: replays are authenticated too
//!     .layer(charges)
//!     .add_routes(shop);
//! # let _ = server;
//! # }
//! ```
//!
//! `LayerExt::named_layer` of tonic puts it around one service: `charges.named_layer(ShopServer::new(shop))`.
//!
//! # What is compared
//!
//! - The path, `/package.Service/Method`.
//! - Under [`Scope::GLOBAL`](idem_runtime::Scope::GLOBAL) the `:authority` too.
//! - `content-type`, as parsed, and `grpc-encoding`, which says how the bytes are to be read; `identity` is the same as none.
//! - The metadata of [`compare_metadata`](IdempotencyLayer::compare_metadata). All values of a name, in their order.
//! - The bytes of the request as received: each message with its prefix of length and compression (*gRPC over HTTP2*,
//!   "Length-Prefixed-Message").
//!
//! Nothing else: `grpc-timeout`, `user-agent`, `te` and `grpc-accept-encoding` may differ from one attempt to the next.
//!
//! Protobuf has no canonical encoding. A retry that sends the very message of the first attempt, as a retry policy does, sends the
//! same bytes. One that builds an equal message anew may not: another release of the client may encode it differently, and
//! prost writes a map in the order of a `HashMap`. Such a retry is refused as a mismatch, and nothing is done twice.
//!
//! # What is recorded
//!
//! The head, the bytes and the trailers of the answer, with its metadata in both. A replay is these, with the metadata
//! `idempotent-replayed: true`: in the head, and for an error among its trailers. Metadata of the connection, of the moment and
//! with secrets are left out by the rule of [`idem_tower::layer`]; [`record_metadata`](IdempotencyLayer::record_metadata) and
//! [`omit_metadata`](IdempotencyLayer::omit_metadata) change it.
//!
//! The method gets its request without `grpc-accept-encoding`, and so does not compress its answer: a later client may not be able to
//! read the encoding that the first one asked for.
//!
//! # Answers that cannot be recorded
//!
//! An answer cannot be recorded if it does not end [in time](IdempotencyLayer::response_timeout), is over the limit, breaks off or is
//! compressed. The client gets `INTERNAL` with the reason `RESPONSE_NOT_STORABLE`, and the outcome of the key is *unknown* until it is
//! [settled by hand](idem_runtime::lease), because the effect has happened.
//!
//! # Streams
//!
//! The layer is for unary methods. It has no way to tell them from others, because a request is a stream of messages in any
//! case: several messages are compared as one sequence of bytes, and several of an answer are recorded as one. A stream of the
//! server that ends in time and within the limit is therefore replayed, all at once; one that does not leaves the outcome unknown.
//! A method whose client waits for messages before it sends more never begins: name the [methods](IdempotencyLayer::methods)
//! if the server has streams, reflection or health watches.
//!
//! # Order of layers
//!
//! Put the layer inside authentication and authorisation, which must check replays too, and outside everything that must
//! happen once. Put `GrpcWebLayer` of tonic-web outside, which moves trailers into the body.

mod grpc;
mod keep;
mod replay_layer;

pub use idem_tower::layer::{DEFAULT_BODY_LIMIT, DEFAULT_RESPONSE_TIMEOUT, Keep};

pub use self::grpc::{Grpc, GrpcOptions};
pub use self::keep::keep;
pub use self::replay_layer::{IdempotencyLayer, IdempotencyService, Unscoped};
