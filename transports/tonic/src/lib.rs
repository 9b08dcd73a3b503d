//! The gRPC edge of idem for tonic 0.14: reads the key from a call's metadata, and returns refusals as statuses.
//!
//! - [`RequestExt`] reads the [`IdempotencyKey`](idem_runtime::IdempotencyKey) of a request, in the
//!   [`Scope`](idem_runtime::Scope) that an interceptor put into its extensions. [`metadata`] has the rules.
//! - [`ErrorExt`] turns an [`Error`](idem_runtime::Error) into a status, and [`Refusal`] changes parts of it. [`code`] is the
//!   table of codes.
//! - [`ReplayableExt`] turns a [`Replayable`](idem_runtime::Replayable) into a response whose metadata says whether it is a
//!   replay.
//! - `layer` (feature `layer`) replays whole answers of unary methods that have no handler.
//!
//! A service converts the protobuf message to the handler's own parameters, and these are compared as everywhere. The bytes
//! of the message are not compared, except by `layer`: protobuf has no canonical encoding, so equal messages of two clients, or of two releases of
//! one, may differ in their bytes.
//!
//! ```
//! use idem_runtime::{IdempotencyKey, idempotent};
//! use idem_tonic::{ErrorExt as _, ReplayableExt as _, RequestExt as _};
//! use sqlx::{SqlitePool, SqliteTransaction};
//! use tonic::{Request, Response, Status};
//!
//! # /// These stand for what `tonic-prost-build` generates.
//! # mod proto {
//! #     pub struct Order { pub item: String }
//! #     pub struct Placed { pub number: i64 }
//! #     #[tonic::async_trait]
//! #     pub trait Shop {
//! #         async fn place(&self, order: tonic::Request<Order>) -> Result<tonic::Response<Placed>, tonic::Status>;
//! #     }
//! # }
//! #[derive(serde::Serialize)] // compared on every retry
//! struct Order { item: String }
//!
//! #[derive(serde::Serialize, serde::Deserialize)] // recorded, and replayed
//! struct Placed { number: i64 }
//!
//! #[derive(Debug, thiserror::Error)]
//! enum OrderError {
//!     #[error(transparent)]
//!     Idempotency(#[from] idem_runtime::Error),
//!     #[error(transparent)]
//!     Database(#[from] sqlx::Error),
//! }
//!
//! impl From<OrderError> for Status {
//!     fn from(error: OrderError) -> Self {
//!         match error {
//!             OrderError::Idempotency(error) => error.to_status(),
//!             OrderError::Database(error) if idem_runtime::error::is_transient(&error) => {
//!                 Status::unavailable("try again with the same key")
//!             }
//!             OrderError::Database(_) => Status::internal("the log says why"),
//!         }
//!     }
//! }
//!
//! #[idempotent(namespace = "orders", retention = "24h")]
//! async fn place_order(
//!     tx: &mut SqliteTransaction<'_>,
//!     key: &IdempotencyKey,
//!     order: &Order,
//! ) -> Result<Placed, OrderError> {
//!     let number = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number")
//!         .bind(&order.item)
//!         .fetch_one(&mut **tx)
//!         .await?;
//!     Ok(Placed { number })
//! }
//!
//! struct Shop { pool: SqlitePool }
//!
//! #[tonic::async_trait]
//! impl proto::Shop for Shop {
//!     async fn place(&self, request: Request<proto::Order>) -> Result<Response<proto::Placed>, Status> {
//!         let key = request.idempotency_key()?;
//!         let order = Order { item: request.into_inner().item };
//!         let placed = place_order(&self.pool, &key, &order).await?;
//!         Ok(placed.map(|placed| proto::Placed { number: placed.number }).into_response())
//!     }
//! }
//! ```
//!
//! # Deadlines
//!
//! tonic drops a method whose client has cancelled it or whose deadline has passed. A handler in a transaction is then rolled
//! back, unless its COMMIT was already sent; a retry gets the result or runs the body. If a body takes longer than its
//! clients wait, no retry ever succeeds: run the call in a task, and the retry gets its result.
//!
//! ```
//! # use tonic::Status;
//! # async fn place_order() -> Result<u32, Status> { Ok(17) }
//! # async fn example() -> Result<u32, Status> {
//! let call = tokio::spawn(async move { place_order().await });
//! call.await.map_err(|_| Status::internal("the call panicked"))?
//! # }
//! ```

mod answer;
#[cfg(feature = "layer")]
pub mod layer;
pub mod metadata;
mod refusal;
mod request;

pub use self::answer::{ErrorExt, ReplayableExt};
pub use self::refusal::{DOMAIN, Refusal, code};
pub use self::request::RequestExt;
