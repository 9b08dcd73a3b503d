//! The command line.

mod client;
mod removal;
mod schema;
mod serve;

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args as Group, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use self::client::Client;
pub(crate) use self::removal::{Hold, Purge, Whose};
pub(crate) use self::schema::{Database, Schema, Table};
pub(crate) use self::serve::{OperatorArgs, Serve};

/// Looks at idempotency records and outbox events, settles what is unknown, frees what is stuck.
///
/// Exit codes: 0 done; 1 refused, or something was found; 2 the command line is wrong; 3 the database cannot serve it.
#[derive(Debug, Parser)]
#[command(name = "idem", version, propagate_version = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Group)]
pub(crate) struct Shared {
    /// The database: `postgres://..`, `mysql://..`, `mariadb://..` or `sqlite://path`.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, global = true)]
    pub(crate) url: Option<String>,
    /// The table of the records, `[schema.]name`.
    #[arg(long, default_value = "idem_record", global = true)]
    pub(crate) table: String,
    /// Print JSON for programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What a command that changes something takes.
#[derive(Debug, Group)]
pub(crate) struct Sign {
    /// Why, for the audit table.
    #[arg(long)]
    pub(crate) reason: String,
    /// Who, for the audit table.
    #[arg(long, env = "USER")]
    pub(crate) by: String,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// The name of a record.
#[derive(Debug, Group)]
#[command(group = ArgGroup::new("of").required(true).args(["scope", "global"]))]
pub(crate) struct Name {
    /// The namespace.
    pub(crate) namespace: String,
    /// The key, as the client sent it.
    pub(crate) key: String,
    /// The tenant or principal.
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// The key is one that all callers share.
    #[arg(long)]
    pub(crate) global: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the migrations, or check the tables.
    #[command(subcommand)]
    Schema(Schema),
    /// Count the records by namespace, operation and status. Reads the whole table.
    Stats,
    /// List records: leases first, then those that are kept longest.
    List(List),
    /// Show one record; its payloads only with --reveal.
    Show {
        #[command(flatten)]
        name: Name,
        /// Show request, result and failure, which may be personal data.
        #[arg(long)]
        reveal: bool,
    },
    /// Record what became of an effect of unknown outcome.
    #[command(subcommand)]
    Resolve(Resolve),
    /// Free a key whose lease has lapsed or whose outcome is unknown: the next caller runs the body.
    Release {
        #[command(flatten)]
        name: Name,
        #[command(flatten)]
        sign: Sign,
    },
    /// Delete the records whose retention has ended.
    Purge(Purge),
    /// Delete all records of a scope: retries of them run the body again.
    Forget {
        /// The tenant or principal.
        #[arg(long)]
        scope: String,
        #[command(flatten)]
        sign: Sign,
    },
    /// Place, list and lift legal holds: what of a scope no purge and no forget deletes.
    #[command(subcommand)]
    Hold(Hold),
    /// Look after the events of the outbox.
    Outbox(Outbox),
    /// Say why a request is not the one that was recorded.
    Explain {
        #[command(flatten)]
        name: Name,
        /// A file with the compared parameters as a JSON object, `{"cmd": {..}}`; `-` is the standard input.
        #[arg(long)]
        request: PathBuf,
        /// The operation that is called now. The default is the recorded one.
        #[arg(long)]
        operation: Option<String>,
        /// Show the differing values, which may be personal data.
        #[arg(long)]
        reveal: bool,
    },
    /// Examine the database: rights, settings, tables, and what is waiting for somebody.
    Doctor {
        /// How long the broker may deliver a message again, such as 7d: records must live longer.
        #[arg(long, value_parser = humantime::parse_duration)]
        broker_window: Option<Duration>,
    },
    /// Show the pages of the console to operators, in a browser.
    Serve(Serve),
    /// Draw a token for an operator, and print the line of the file of operators.
    Operator(OperatorArgs),
    /// Generate a client of a service.
    #[command(subcommand)]
    Client(Client),
    /// Print the completions of a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page, in troff.
    Man,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Status {
    /// A claim that its body has committed without a record (MySQL and MariaDB).
    Claimed,
    /// The body succeeded.
    Completed,
    /// The body failed permanently.
    Failed,
    /// An attempt holds the key under a lease.
    InProgress,
    /// Nobody knows whether the effect happened.
    Unknown,
    /// The next caller may claim the key.
    Released,
}

#[derive(Debug, Group)]
pub(crate) struct List {
    /// Only this status. May be given more than once.
    #[arg(long)]
    pub(crate) status: Vec<Status>,
    /// Only this namespace.
    #[arg(long)]
    pub(crate) namespace: Option<String>,
    /// Only this operation.
    #[arg(long)]
    pub(crate) operation: Option<String>,
    /// Only this scope; the empty text is that of all callers.
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// Only the keys whose SHA-256 begins with these 12 digits: the field `key` of an event.
    #[arg(long, value_parser = key_hash)]
    pub(crate) key_hash: Option<String>,
    /// Only records that were written longer ago than this, such as 15m or 2h.
    #[arg(long, value_parser = humantime::parse_duration)]
    pub(crate) older_than: Option<Duration>,
    /// Only leases that ended without an end of their attempt.
    #[arg(long)]
    pub(crate) lapsed: bool,
    /// The greatest number of records.
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: u32,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Resolve {
    /// It happened: every retry replays the result.
    Completed {
        #[command(flatten)]
        name: Name,
        /// The result of the handler, as JSON.
        #[arg(long)]
        result: String,
        /// The version of the result: the handler's `result_version`, or an older one that it reads.
        #[arg(long, default_value = "1")]
        result_version: NonZeroU16,
        #[command(flatten)]
        kept: Kept,
        #[command(flatten)]
        sign: Sign,
    },
    /// It failed for good: every retry replays the failure.
    Failed {
        #[command(flatten)]
        name: Name,
        /// The class of the failure: the name of the error's variant.
        #[arg(long)]
        class: String,
        /// The message of the failure.
        #[arg(long)]
        message: String,
        /// The fields of the variant, as JSON.
        #[arg(long)]
        data: Option<String>,
        /// The version of the failure: the `version` of the handler's error type, or an older one that it reads.
        #[arg(long, default_value = "1")]
        failure_version: NonZeroU16,
        #[command(flatten)]
        kept: Kept,
        #[command(flatten)]
        sign: Sign,
    },
    /// It never happened: the next caller runs the body.
    NeverHappened {
        #[command(flatten)]
        name: Name,
        #[command(flatten)]
        kept: Kept,
        #[command(flatten)]
        sign: Sign,
    },
}

/// How long what was resolved is kept.
#[derive(Debug, Group)]
pub(crate) struct Kept {
    /// How long the record is kept from now on, such as 24h or 7d.
    #[arg(long, default_value = "24h", value_parser = humantime::parse_duration)]
    pub(crate) retention: Duration,
}

/// The events of the outbox.
#[derive(Debug, Group)]
pub(crate) struct Outbox {
    /// The table of the outbox, `[schema.]name`.
    #[arg(long, default_value = "idem_outbox", global = true)]
    pub(crate) outbox_table: String,
    #[command(subcommand)]
    pub(crate) command: OutboxCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    /// Count the events by topic and state. Reads the whole table.
    Stats,
    /// List events in the order of their appends.
    List {
        /// Only this state. May be given more than once.
        #[arg(long)]
        state: Vec<State>,
        /// Only this topic.
        #[arg(long)]
        topic: Option<String>,
        /// The greatest number of events.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Show one event and its last error; its payload only with --reveal.
    Show {
        /// The id: 64 hexadecimal digits.
        id: String,
        /// Show headers and payload, which may be personal data.
        #[arg(long)]
        reveal: bool,
    },
    /// Give dead events their attempts back.
    Requeue {
        #[command(flatten)]
        events: Events,
        #[command(flatten)]
        sign: Sign,
    },
    /// Let the publication of a paused topic go on.
    Resume {
        /// The topic.
        topic: String,
        #[command(flatten)]
        sign: Sign,
    },
    /// Delete dead events: they are never published.
    Drop {
        #[command(flatten)]
        events: Events,
        #[command(flatten)]
        sign: Sign,
    },
}

/// Which dead events are meant.
#[derive(Debug, Group)]
#[command(group = ArgGroup::new("which").required(true).args(["id", "topic"]))]
pub(crate) struct Events {
    /// The id of one event.
    pub(crate) id: Option<String>,
    /// All dead events of this topic.
    #[arg(long)]
    pub(crate) topic: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum State {
    /// It is published when it is due.
    Pending,
    /// It was published, and is kept.
    Published,
    /// It was set aside.
    Dead,
    /// It waits for an earlier event of its partition.
    Waiting,
    /// It waits for its topic to be resumed.
    Held,
}

fn key_hash(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("12 hexadecimal digits, as the field `key` of an event has them".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Args;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        Args::command().debug_assert();
    }
}
