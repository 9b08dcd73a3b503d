//! The arguments of what deletes records, and of what keeps them.

use std::time::Duration;

use clap::{ArgGroup, Args as Group, Subcommand};

use super::Sign;

/// A scope.
#[derive(Debug, Group)]
#[command(group = ArgGroup::new("whose").required(true).args(["scope", "global"]))]
pub(crate) struct Whose {
    /// The tenant or principal.
    #[arg(long)]
    pub(crate) scope: Option<String>,
    /// The scope that all callers share.
    #[arg(long)]
    pub(crate) global: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Hold {
    /// Keep all records of a scope, past their retention too.
    Add {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        sign: Sign,
    },
    /// List the holds, the oldest first.
    List,
    /// Let the records of a scope go again.
    Lift {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        sign: Sign,
    },
}

#[derive(Debug, Group)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command"
)]
pub(crate) struct Purge {
    /// Count what would be deleted, and delete nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Delete unknown outcomes too whose lease ended longer ago than this: retries of them run the body.
    #[arg(long, value_parser = humantime::parse_duration)]
    pub(crate) unknown_older_than: Option<Duration>,
    /// Write a row of the archive for each record that is deleted, without its payloads.
    #[arg(long)]
    pub(crate) archive: bool,
    /// Keep the payloads in the archive too.
    #[arg(long, requires = "archive")]
    pub(crate) archive_payloads: bool,
    /// Delete the rows of the archive too that were written longer ago than this, such as 10y.
    #[arg(long, value_parser = humantime::parse_duration)]
    pub(crate) archived_older_than: Option<Duration>,
    /// Why, for the audit table.
    #[arg(long, required_unless_present = "dry_run")]
    pub(crate) reason: Option<String>,
    /// Who, for the audit table.
    #[arg(long, env = "USER")]
    pub(crate) by: Option<String>,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
}
