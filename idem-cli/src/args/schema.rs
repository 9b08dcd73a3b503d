//! The tables, and their migrations.

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum Schema {
    /// Print the migrations.
    Print {
        /// The database; the default is that of the URL.
        #[arg(long)]
        database: Option<Database>,
        /// Print only this table. May be given more than once.
        #[arg(long)]
        only: Vec<Table>,
    },
    /// Check that the tables of records and of the audit are fit. With --outbox, that of the outbox too.
    Verify {
        /// The table of the outbox.
        #[arg(long, num_args = 0..=1, default_missing_value = "idem_outbox")]
        outbox: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Database {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    Mysql,
    /// SQLite.
    Sqlite,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// The records.
    Record,
    /// What operators have changed.
    Audit,
    /// What purges have deleted.
    Archive,
    /// Legal holds.
    Hold,
    /// The events to publish.
    Outbox,
    /// How far projections have come.
    Version,
}
