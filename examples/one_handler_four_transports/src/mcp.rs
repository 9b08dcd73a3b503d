//! As an MCP server: the tool `create_payment` with the argument `idempotency_key`.

use idem_mcp::{Call, Tools};
use idem_runtime::Scope;
use idem_runtime::error::is_transient;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ErrorData};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use sqlx::SqlitePool;

use crate::handler::{CreatePayment, CreatePaymentOperation, PaymentError, create_payment};

/// The server of one session. Its user is that of the process, as on standard input and output.
#[derive(Debug, Clone)]
pub struct Payments {
    pool: SqlitePool,
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Payments {
    #[tool(description = "Charges an account")]
    async fn create_payment(
        &self,
        call: Call,
        Parameters(cmd): Parameters<CreatePayment>,
    ) -> Result<CallToolResult, ErrorData> {
        match create_payment(&self.pool, call.key()?, &cmd).await {
            Ok(payment) => call.answer(payment),
            Err(PaymentError::Idempotency(error)) => call.refuse(&error),
            Err(PaymentError::Database(error)) if is_transient(&error) => call.try_again(),
            Err(PaymentError::Database(_)) => {
                Err(ErrorData::internal_error("the log says why", None))
            }
        }
    }

    /// Creates the server of a session of `account`.
    pub fn new(pool: SqlitePool, account: Scope) -> Self {
        let tools = Tools::scoped(move |_| Some(account.clone()));
        let create = ToolRoute::new(Self::create_payment_tool_attr(), Self::create_payment);
        let create = tools.tool_with_argument::<CreatePaymentOperation, _>(create);
        Self {
            pool,
            tool_router: ToolRouter::new().with_route(create),
        }
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Payments {}
