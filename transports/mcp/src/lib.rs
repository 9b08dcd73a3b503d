//! The edge of idem for MCP servers with rmcp 3: the key of a tool's call, the tool's annotation, and refusals.
//!
//! - [`Tools`] registers a tool with the marker of its handler. It reads the key of a call from `_meta` or from the argument
//!   `idempotency_key`, in the caller's [`Scope`](idem_runtime::Scope), and sets the annotation `idempotentHint`.
//! - [`Call`] is an extractor of tools: it has the key, and turns results and refusals into answers.
//!
//! ```standalone_crate
//! use idem_mcp::{Call, Tools};
//! use idem_runtime::error::is_transient;
//! use idem_runtime::{IdempotencyKey, idempotent};
//! use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
//! use rmcp::handler::server::wrapper::Parameters;
//! use rmcp::model::{CallToolResult, ErrorData};
//! use rmcp::{ServerHandler, tool, tool_handler, tool_router};
//! use sqlx::{SqlitePool, SqliteTransaction};
//!
//! #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)] // read, and compared on every retry
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
//! #[idempotent(namespace = "orders", retention = "24h", marker = PlaceOrder)]
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
//! #[derive(Clone)]
//! struct Shop { pool: SqlitePool, tool_router: ToolRouter<Self> }
//!
//! #[tool_router]
//! impl Shop {
//!     #[tool(description = "Places an order")]
//!     async fn place(&self, call: Call, Parameters(order): Parameters<Order>) -> Result<CallToolResult, ErrorData> {
//!         match place_order(&self.pool, call.key()?, &order).await {
//!             Ok(placed) => call.answer(placed),
//!             Err(OrderError::Idempotency(error)) => call.refuse(&error),
//!             Err(OrderError::Database(error)) if is_transient(&error) => call.try_again(),
//!             Err(OrderError::Database(_)) => Err(ErrorData::internal_error("the log says why", None)),
//!         }
//!     }
//!
//!     fn new(pool: SqlitePool) -> Self {
//!         let tools = Tools::global(); // one user, on standard input and output
//!         let place = ToolRoute::new(Self::place_tool_attr(), Self::place);
//!         let tool_router = ToolRouter::new().with_route(tools.tool_with_argument::<PlaceOrder, _>(place));
//!         Self { pool, tool_router }
//!     }
//! }
//!
//! #[tool_handler(router = self.tool_router)]
//! impl ServerHandler for Shop {}
//! # let pool = sqlx::sqlite::SqlitePoolOptions::new();
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
//! # let _guard = runtime.enter();
//! # let shop = Shop::new(pool.connect_lazy("sqlite::memory:").unwrap());
//! # let tool = shop.tool_router.list_all().remove(0);
//! # assert_eq!(tool.annotations.unwrap().idempotent_hint, Some(true));
//! # assert_eq!(tool.input_schema["required"], serde_json::json!(["item", "idempotency_key"]));
//! ```

mod call;
mod refusal;
mod tools;

pub use self::call::Call;
pub use self::refusal::ARGUMENT;
pub use self::tools::Tools;
