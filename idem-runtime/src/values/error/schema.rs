//! The faults of a table that make it unable to arbitrate between competing attempts.

/// Why the record's table cannot arbitrate. Checked at first use, before any body runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// The table does not exist.
    #[error(
        "table `{table}` does not exist: run the migration in `idem_runtime::schema` (the library creates nothing by itself)"
    )]
    TableMissing {
        /// The table that was looked for.
        table: String,
    },

    /// No unique index can arbitrate. The index must be unique, valid, immediate and non-partial, on exactly
    /// (namespace, scope, key), and compare byte for byte. On MySQL and MariaDB it must be the primary key,
    /// which no session can switch off.
    #[error(
        "table `{table}` has no unique, valid, immediate, non-partial index on exactly (namespace, scope, key) that compares them byte for byte; to fix it: {fix}"
    )]
    NoArbiter {
        /// The table checked.
        table: String,
        /// The statement that fixes it.
        fix: String,
    },

    /// The table is not a permanent, ordinary one. It may not survive a crash or a session (it, or one of its
    /// partitions, is temporary or unlogged); it is not a table; it has children that its index does not
    /// cover; or it is partitioned on MySQL or MariaDB, where the index would need more columns.
    #[error("table `{table}` is {found}: it must be a permanent, ordinary table; to fix it: {fix}")]
    NotPermanent {
        /// The table checked, or the faulty part of it.
        table: String,
        /// What was found instead.
        found: &'static str,
        /// The statement that fixes it.
        fix: String,
    },

    /// The table's engine (MySQL, MariaDB) has no transactions with row locks.
    #[error(
        "the engine of table `{table}` must be InnoDB; to fix it: ALTER TABLE {table} ENGINE = InnoDB"
    )]
    NotTransactional {
        /// The table checked.
        table: String,
    },

    /// A column is missing or unsuitable.
    #[error("column `{column}` of table `{table}` {fault}; to fix it: {fix}")]
    Column {
        /// The table checked.
        table: String,
        /// The faulty column.
        column: String,
        /// The fault.
        fault: &'static str,
        /// The statement that fixes it.
        fix: String,
    },

    /// A column that the library reads is missing.
    #[error(
        "table `{table}` lacks a column that the library reads: compare it with the migration in `idem_runtime::schema`"
    )]
    Columns {
        /// The table checked.
        table: String,
    },

    /// A trigger runs before or instead of a write of the record, so it can change or drop the record. A
    /// trigger that runs after the write is not refused, but reported as
    /// [`SchemaFinding::Trigger`].
    #[error(
        "trigger `{trigger}` runs before or instead of writes to table `{table}`, and can change or drop a record; to fix it: {fix}"
    )]
    Trigger {
        /// The table checked, or its partition.
        table: String,
        /// The trigger.
        trigger: String,
        /// The statement that fixes it.
        fix: String,
    },

    /// A rule rewrites the statements that write the record (PostgreSQL).
    #[error("rule `{rule}` rewrites the writes to table `{table}`; to fix it: {fix}")]
    Rule {
        /// The table checked.
        table: String,
        /// The rule.
        rule: String,
        /// The statement that fixes it.
        fix: String,
    },

    /// The pool opens more than one connection to `:memory:`, and each would have a separate
    /// database.
    #[error(
        "a pool of {connections} connections to `:memory:` has {connections} separate databases: use one connection, or a file"
    )]
    MemoryPool {
        /// The pool's limit.
        connections: u32,
    },

    /// The table is in a file attached to the connection (SQLite). Under WAL, a COMMIT is not atomic across
    /// files: a crash could leave the record without its effect, or the reverse.
    #[error(
        "table `{table}` is in an attached file, and a COMMIT is not atomic across files: keep the records in `main`, with their effects"
    )]
    Attached {
        /// The table checked.
        table: String,
    },

    /// The transaction has written to a file attached to the connection, or taken its write lock, as a
    /// caller's `BEGIN IMMEDIATE` does. A COMMIT is not atomic across files (SQLite, unless both files have a
    /// rollback journal): a crash could leave the record without its effect, or the effect without its record.
    /// Nothing is committed.
    #[error(
        "the transaction has written to the attached file `{database}` (or taken its write lock, as BEGIN IMMEDIATE does), and a COMMIT is not atomic across files; nothing was committed: write only to `main`, or use a rollback journal in both files: PRAGMA main.journal_mode = DELETE; PRAGMA {database}.journal_mode = DELETE"
    )]
    AttachedWrite {
        /// The name of the attached file.
        database: String,
    },

    /// The database's journal cannot undo an unfinished transaction (SQLite): OFF, or MEMORY on a file.
    #[error(
        "the database's journal_mode is `{found}`, which cannot undo a transaction after a crash; to fix it: PRAGMA journal_mode = WAL (or DELETE, TRUNCATE, PERSIST)"
    )]
    JournalMode {
        /// The journal mode, as SQLite names it.
        found: String,
    },

    /// The connection reads uncommitted data (SQLite's shared cache), so a record that it reads may never be
    /// committed.
    #[error(
        "the connection has `PRAGMA read_uncommitted` on, so a record that it reads may never be committed; to fix it: PRAGMA read_uncommitted = OFF"
    )]
    ReadUncommitted,
}

impl SchemaFault {
    /// Returns the statement that fixes the fault, if there is one.
    pub fn fix(&self) -> Option<&str> {
        match self {
            Self::NoArbiter { fix, .. }
            | Self::NotPermanent { fix, .. }
            | Self::Column { fix, .. }
            | Self::Trigger { fix, .. }
            | Self::Rule { fix, .. } => Some(fix),
            _ => None,
        }
    }
}

/// A finding that [`schema::verify`](crate::stores::schema::verify) reports but does not refuse: the record is
/// safe, but other data may not be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaFinding {
    /// A table in the database of the records has an engine without transactions (MySQL, MariaDB).
    /// The writes of a body to it are not rolled back if the call fails, and the retry repeats
    /// them.
    NotTransactional {
        /// The table, with its database.
        table: String,
        /// Its engine.
        engine: String,
    },

    /// A table in the database of the records is unlogged (PostgreSQL): a crash of the server empties it, but
    /// keeps the records of the calls that wrote to it.
    Unlogged {
        /// The table, with its schema.
        table: String,
    },

    /// Row security applies to this account on the table of the records (PostgreSQL). If a policy hides a
    /// record, calls with its key return [`Error::RecordInvisible`](crate::Error::RecordInvisible), and a
    /// purge by this account does not delete it.
    RowSecurity {
        /// The table of the records.
        table: String,
    },

    /// The function of the migration that raises a record is not used (PostgreSQL). Everything works without it;
    /// but a retry that comes to a process that has not seen its key takes a second round trip.
    FunctionUnused {
        /// The function, with its schema.
        function: String,
        /// Why it is not used.
        reason: &'static str,
        /// What to do about it.
        fix: String,
    },

    /// A trigger runs after writes to the table of the records, or before a whole statement
    /// (PostgreSQL). It cannot change the record that is being inserted, so it is not refused. If it deletes
    /// or changes records afterwards, their keys count as unused, and a retry repeats the effect.
    Trigger {
        /// The table of the records, or its partition.
        table: String,
        /// The trigger.
        trigger: String,
        /// The statement that removes the trigger.
        fix: String,
    },
}

impl std::fmt::Display for SchemaFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotTransactional { table, engine } => write!(
                f,
                "table `{table}` has the engine {engine}, which has no transactions: writes of a body to it are not rolled back; ALTER TABLE {table} ENGINE = InnoDB"
            ),
            Self::Unlogged { table } => write!(
                f,
                "table `{table}` is unlogged: a crash empties it but keeps the records of the calls that wrote to it; ALTER TABLE {table} SET LOGGED"
            ),
            Self::RowSecurity { table } => write!(
                f,
                "row security on table `{table}` applies to this account: calls with the key of a hidden record fail; ALTER TABLE {table} DISABLE ROW LEVEL SECURITY, or give the account BYPASSRLS"
            ),
            Self::FunctionUnused {
                function,
                reason,
                fix,
            } => write!(
                f,
                "function `{function}` {reason}: a retry in a process that has not seen its key takes a second round trip; {fix}"
            ),
            Self::Trigger {
                table,
                trigger,
                fix,
            } => write!(
                f,
                "trigger `{trigger}` runs after or around writes to table `{table}`: if it deletes or changes a record, a retry repeats the effect; unless it writes only to other tables: {fix}"
            ),
        }
    }
}
