//! The arguments of the pages and of their operators.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args as Group;

/// Where the pages are, and for whom.
#[derive(Debug, Group)]
pub(crate) struct Serve {
    /// The file of operators: who may see the pages. There are none without it.
    #[arg(long, env = "IDEM_OPERATORS")]
    pub(crate) operators: PathBuf,
    /// The address.
    #[arg(long, default_value = "127.0.0.1:8017")]
    pub(crate) listen: SocketAddr,
    /// Listen on an address that other machines reach. Names and tokens are sent in clear: only behind TLS.
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Where browsers see the pages behind a proxy, such as <https://ops.example.com>.
    #[arg(long)]
    pub(crate) origin: Option<String>,
    /// How long a statement of a page may run or wait at the server, such as 10s; 0s for the account's own limits.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) statement_timeout: Duration,
    /// The table of the outbox, `[schema.]name`.
    #[arg(long, default_value = "idem_outbox")]
    pub(crate) outbox_table: String,
    /// Leave out the pages of the outbox.
    #[arg(long)]
    pub(crate) no_outbox: bool,
}

/// An operator, and what he may beside reading.
#[derive(Debug, Group)]
pub(crate) struct OperatorArgs {
    /// The name, for the audit table.
    pub(crate) name: String,
    /// He may change records and events.
    #[arg(long)]
    pub(crate) change: bool,
    /// He may see payloads.
    #[arg(long)]
    pub(crate) reveal: bool,
}
