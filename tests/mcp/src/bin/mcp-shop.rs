//! The server as a host starts it: on standard input and output, for one user. `mcp-shop URL` names its database, which has
//! the tables.

use std::env;
use std::error::Error;

use idem_mcp::Tools;
use idem_tests_mcp::server::Counter;
use rmcp::{ServiceExt as _, transport};
use sqlx::SqlitePool;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().nth(1).ok_or("usage: mcp-shop URL")?;
    let pool = SqlitePool::connect(&url).await?;
    let server = Counter::with(pool, &Tools::global());
    server.serve(transport::stdio()).await?.waiting().await?;
    Ok(())
}
