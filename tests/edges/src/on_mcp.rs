//! MCP: rmcp's server, called for a tool as a session calls it once it has read the message.

use idem_mcp::{Call, Tools};
use idem_runtime::Scope;
use idem_tests_counting::Ledger;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, RequestId};
use rmcp::service::{Peer, RequestContext, serve_directly};
use rmcp::{RoleServer, ServerHandler, tool, tool_handler, tool_router};
use serde_json::{Map, Value};

use crate::Outcome;
use crate::at_once::{self, AnswerKind};
use crate::shop::{self, KEY, ORDER, Order, Outcomes, PlaceOrder};
use crate::stretch::MCP;

#[derive(Clone)]
struct Shop {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Shop {
    #[tool(description = "Places an order, without the library")]
    async fn place_bare(
        &self,
        Parameters(order): Parameters<Order>,
    ) -> Result<CallToolResult, ErrorData> {
        let placed = serde_json::to_value(shop::placed(order));
        let fault = |_| ErrorData::internal_error("the result has no JSON", None);
        Ok(CallToolResult::structured(placed.map_err(fault)?))
    }

    #[tool(description = "Places an order")]
    async fn place_order(
        &self,
        call: Call,
        Parameters(order): Parameters<Order>,
    ) -> Result<CallToolResult, ErrorData> {
        match shop::outcome_of(call.key()?, order) {
            Ok(placed) => call.answer(placed),
            Err(error) => call.refuse(&error),
        }
    }

    fn new() -> Self {
        let tools = Tools::scoped(|context| context.extensions.get::<Scope>().cloned());
        let bare = ToolRoute::new(Self::place_bare_tool_attr(), Self::place_bare);
        let route = ToolRoute::new(Self::place_order_tool_attr(), Self::place_order);
        let tool_router = ToolRouter::new()
            .with_route(bare)
            .with_route(tools.tool_with_argument::<PlaceOrder, _>(route));
        Self { tool_router }
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Shop {}

pub(crate) fn measure(ledger: &mut Ledger, outcomes: &Outcomes) -> Outcome {
    let shop = Shop::new();
    // A request's context has a peer, and only a session makes one.
    let (_far, near) = tokio::io::duplex(1024);
    let session = serve_directly(shop.clone(), near, None);
    at_once::measure(
        ledger,
        outcomes,
        &MCP,
        || {
            let (params, context) = request("place_bare", false, session.peer());
            shop.call_tool(params, context)
        },
        || {
            let (params, context) = request("place_order", true, session.peer());
            shop.call_tool(params, context)
        },
        kind_of,
    )
}

/// A request as a session hands it over; with a key it has passed an authentication.
fn request(
    tool: &'static str,
    has_key: bool,
    peer: &Peer<RoleServer>,
) -> (CallToolRequestParams, RequestContext<RoleServer>) {
    let mut arguments: Map<String, Value> = serde_json::from_str(ORDER).expect("an object");
    let mut context = RequestContext::new(RequestId::Number(1), peer.clone());
    if has_key {
        arguments.insert("idempotency_key".to_owned(), KEY.into());
        context.extensions.insert(shop::scope());
    }
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    (params, context)
}

fn kind_of(answer: Result<CallToolResponse, ErrorData>) -> AnswerKind {
    let Ok(CallToolResponse::Complete(result)) = answer else {
        panic!("no result of a tool: {answer:?}");
    };
    let marked = result.meta.as_ref();
    if result.is_error == Some(true) {
        AnswerKind::Refusal
    } else if marked.is_some_and(|meta| meta.contains_key("dev.idem/idempotentReplayed")) {
        AnswerKind::Replay
    } else {
        AnswerKind::Result
    }
}
