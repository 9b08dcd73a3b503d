//! What makes a table unfit to arbitrate between rival attempts.

/// Why the record's table is not fit to arbitrate. Checked at first use, before any body runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// There is no such table.
    #[error(
        "table `{table}` does not exist: run the migration in `idem_runtime::schema` (the library creates nothing by itself)"
    )]
    TableMissing {
        /// The table looked for.
        table: String,
    },

    /// No unique index arbitrates: unique, valid, immediate, non-partial, on exactly (namespace,
    /// scope, key). On MySQL and MariaDB it is the primary key, which no session can switch off.
    #[error(
        "table `{table}` has no unique, valid, immediate, non-partial index on exactly (namespace, scope, key)"
    )]
    NoArbiter {
        /// The table checked.
        table: String,
    },

    /// The table does not survive a crash or a session (temporary, unlogged), is none, or is of a
    /// kind whose keys must have more columns (partitioned, on MySQL and MariaDB).
    #[error("table `{table}` is {found}: it must be a permanent, ordinary table")]
    NotPermanent {
        /// The table checked.
        table: String,
        /// What it is instead.
        found: &'static str,
    },

    /// The table's engine (MySQL, MariaDB) keeps no transactions with row locks.
    #[error("table `{table}` must be of the engine InnoDB")]
    NotTransactional {
        /// The table checked.
        table: String,
    },

    /// A column is missing or does not fit.
    #[error("column `{column}` of table `{table}` {fault}")]
    Column {
        /// The table checked.
        table: String,
        /// The column at fault.
        column: String,
        /// What is wrong with it.
        fault: &'static str,
    },

    /// A column that the library reads is missing.
    #[error(
        "table `{table}` lacks a column that the library reads: compare it with the migration in `idem_runtime::schema`"
    )]
    Columns {
        /// The table checked.
        table: String,
    },

    /// The pool opens more than one connection to `:memory:`, and each would have a database of its
    /// own.
    #[error(
        "a pool of {connections} connections to `:memory:` has as many databases: use one connection, or a file"
    )]
    MemoryPool {
        /// The pool's limit.
        connections: u32,
    },

    /// The table is in a file attached to the connection (SQLite). COMMIT is not one for several
    /// files under WAL: a crash could leave the record without its effect, or the reverse.
    #[error(
        "table `{table}` is in an attached file, whose COMMIT is not one with the main file's: keep the records where their effects are, in `main`"
    )]
    Attached {
        /// The table checked.
        table: String,
    },

    /// The database's journal does not undo what is half done (SQLite): OFF, or MEMORY on a file.
    #[error(
        "the database's journal_mode is `{found}`, which does not undo a transaction after a crash: use WAL, DELETE, TRUNCATE or PERSIST"
    )]
    JournalMode {
        /// The mode found, as SQLite names it.
        found: String,
    },

    /// The connection reads what others have not committed (SQLite's shared cache), and a record
    /// seen that way may never be.
    #[error(
        "the connection has `PRAGMA read_uncommitted` on: a record that it sees may never be committed; turn it off"
    )]
    ReadUncommitted,
}
