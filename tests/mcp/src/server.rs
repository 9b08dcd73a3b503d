//! A server with tools, as a user would write it.

use idem_mcp::{Call, Tools};
use idem_runtime::{ReplayExt as _, Replayable, Scope, meta::MetaNames};
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, tool, tool_handler, tool_router};
use serde_json::Value;
use sqlx::SqlitePool;

use crate::handlers::{
    self, Decline, Order, OrderError, PlaceOrder, Placed, SendParcel, ShipOrder, TakeNote,
};

/// The member of `_meta` that stands for authentication.
pub const TENANT: &str = "com.example/tenant";

/// The server.
#[derive(Clone)]
pub struct Counter {
    pool: SqlitePool,
    tool_router: ToolRouter<Self>,
}

fn answer(
    call: &Call,
    placed: Result<Replayable<Placed>, OrderError>,
) -> Result<CallToolResult, ErrorData> {
    match placed {
        Ok(placed) => call.answer(placed),
        Err(OrderError::Idempotency(error)) => call.refuse(&error),
        Err(error) => Ok(tool_error(&error)),
    }
}

fn tool_error(error: &OrderError) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
}

#[tool_router]
impl Counter {
    #[tool(description = "Places an order")]
    async fn place_order(
        &self,
        call: Call,
        Parameters(order): Parameters<Order>,
    ) -> Result<CallToolResult, ErrorData> {
        answer(
            &call,
            handlers::place_order(&self.pool, call.key()?, &order).await,
        )
    }

    #[tool(description = "Ships an item")]
    async fn ship(
        &self,
        call: Call,
        Parameters(order): Parameters<Order>,
    ) -> Result<CallToolResult, ErrorData> {
        answer(&call, handlers::ship_order(&self.pool, &order).await)
    }

    #[tool(description = "Takes a note")]
    async fn note(
        &self,
        call: Call,
        Parameters(order): Parameters<Order>,
    ) -> Result<CallToolResult, ErrorData> {
        answer(
            &call,
            handlers::take_note(&self.pool, call.optional_key(), &order).await,
        )
    }

    #[tool(description = "Fails for good")]
    async fn decline(
        &self,
        call: Call,
        Parameters(order): Parameters<Order>,
    ) -> Result<CallToolResult, ErrorData> {
        let declined = handlers::decline(&self.pool, call.key()?, &order);
        let error = declined.replayable().await.expect_err("it never succeeds");
        match error.as_ref().into_inner() {
            OrderError::Idempotency(error) => call.refuse(error),
            _ => Ok(call.result(error.map(|error| tool_error(&error)))),
        }
    }

    #[tool(description = "Sends a parcel")]
    async fn send(
        &self,
        call: Call,
        Parameters(order): Parameters<Order>,
    ) -> Result<CallToolResult, ErrorData> {
        answer(
            &call,
            handlers::send_parcel(&self.pool, call.key()?.clone(), order).await,
        )
    }

    /// Returns a server whose callers say in `_meta` who they are.
    pub fn new(pool: SqlitePool, names: MetaNames) -> Self {
        Self::with(pool, &Tools::scoped(tenant).names(names))
    }

    /// Returns a server that reads keys as `tools` say.
    pub fn with(pool: SqlitePool, tools: &Tools) -> Self {
        let fresh = || ToolRoute::new(Self::place_order_tool_attr(), Self::place_order);
        let mut kept = fresh();
        kept.attr.name = "place_by_host".into();
        let mut described = fresh();
        described.attr.name = "place_described".into();
        described.attr = described.attr.with_output_schema::<Placed>();
        let mut forgotten = fresh();
        forgotten.attr.name = "place_unregistered".into();
        let ship = ToolRoute::new(Self::ship_tool_attr(), Self::ship);
        let note = ToolRoute::new(Self::note_tool_attr(), Self::note);
        let decline = ToolRoute::new(Self::decline_tool_attr(), Self::decline);
        let send = ToolRoute::new(Self::send_tool_attr(), Self::send);
        let tool_router = ToolRouter::new()
            .with_route(tools.tool_with_argument::<PlaceOrder, _>(fresh()))
            .with_route(tools.tool::<PlaceOrder, _>(kept))
            .with_route(tools.tool_with_argument::<PlaceOrder, _>(described))
            .with_route(forgotten)
            .with_route(tools.tool::<ShipOrder, _>(ship))
            .with_route(tools.tool_with_argument::<TakeNote, _>(note))
            .with_route(tools.tool_with_argument::<Decline, _>(decline))
            .with_route(tools.tool_with_argument::<SendParcel, _>(send));
        Self { pool, tool_router }
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Counter {}

fn tenant(context: &RequestContext<RoleServer>) -> Option<Scope> {
    let tenant = context.meta.get(TENANT).and_then(Value::as_str)?;
    Some(Scope::new(tenant).expect("a scope"))
}
