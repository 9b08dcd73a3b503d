//! What makes a table unfit to arbitrate between competing attempts.

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
    /// scope, key), compared byte for byte. On MySQL and MariaDB it is the primary key, which no
    /// session can switch off.
    #[error(
        "table `{table}` has no unique, valid, immediate, non-partial index on exactly (namespace, scope, key) that compares them byte for byte; to mend it: {fix}"
    )]
    NoArbiter {
        /// The table checked.
        table: String,
        /// The line to type.
        fix: String,
    },

    /// The table does not survive a crash or a session (temporary, unlogged, or with a partition
    /// that is), is none, has children that its index does not cover, or is of a kind whose keys
    /// must have more columns (partitioned, on MySQL and MariaDB).
    #[error(
        "table `{table}` is {found}: it must be a permanent, ordinary table; to mend it: {fix}"
    )]
    NotPermanent {
        /// The table checked, or the part of it that is at fault.
        table: String,
        /// What it is instead.
        found: &'static str,
        /// The line to type.
        fix: String,
    },

    /// The table's engine (MySQL, MariaDB) keeps no transactions with row locks.
    #[error(
        "table `{table}` must be of the engine InnoDB; to mend it: ALTER TABLE {table} ENGINE = InnoDB"
    )]
    NotTransactional {
        /// The table checked.
        table: String,
    },

    /// A column is missing or does not fit.
    #[error("column `{column}` of table `{table}` {fault}; to mend it: {fix}")]
    Column {
        /// The table checked.
        table: String,
        /// The column at fault.
        column: String,
        /// What is wrong with it.
        fault: &'static str,
        /// The line to type.
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

    /// A trigger runs before or instead of a write of the record: it may change what is recorded, or
    /// record nothing. One that runs after it is not refused, but reported:
    /// [`SchemaFinding::Trigger`].
    #[error(
        "trigger `{trigger}` runs before or instead of writes to table `{table}`, and can change or drop a record; to mend it: {fix}"
    )]
    Trigger {
        /// The table checked, or its partition.
        table: String,
        /// The trigger at fault.
        trigger: String,
        /// The line to type.
        fix: String,
    },

    /// A rule rewrites the statements by which the record is written (PostgreSQL).
    #[error("rule `{rule}` rewrites the writes to table `{table}`; to mend it: {fix}")]
    Rule {
        /// The table checked.
        table: String,
        /// The rule at fault.
        rule: String,
        /// The line to type.
        fix: String,
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

    /// The transaction has written to a file attached to the connection, or taken its write lock, as a
    /// caller's `BEGIN IMMEDIATE` does; and that file's COMMIT is not one with that of the record (SQLite, unless both files have a rollback journal). A crash could leave the
    /// record without its effect, or the effect without its record. Nothing is committed.
    #[error(
        "the transaction has written to the attached file `{database}` (or taken its write lock, as BEGIN IMMEDIATE does), whose COMMIT is not one with the record's: nothing was committed; write to `main` alone, or keep a rollback journal in both files: PRAGMA main.journal_mode = DELETE; PRAGMA {database}.journal_mode = DELETE"
    )]
    AttachedWrite {
        /// The name under which the file is attached.
        database: String,
    },

    /// The database's journal does not undo what is half done (SQLite): OFF, or MEMORY on a file.
    #[error(
        "the database's journal_mode is `{found}`, which does not undo a transaction after a crash; to mend it: PRAGMA journal_mode = WAL (or DELETE, TRUNCATE, PERSIST)"
    )]
    JournalMode {
        /// The mode found, as SQLite names it.
        found: String,
    },

    /// The connection reads what others have not committed (SQLite's shared cache), and a record
    /// seen that way may never be.
    #[error(
        "the connection has `PRAGMA read_uncommitted` on: a record that it sees may never be committed; to mend it: PRAGMA read_uncommitted = OFF"
    )]
    ReadUncommitted,
}

impl SchemaFault {
    /// Returns the line to type that mends the fault, if there is one.
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

/// What [`schema::verify`](crate::stores::schema::verify) reports and does not refuse: the record is safe, and
/// something beside it may not be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaFinding {
    /// A table in the database of the records has an engine without transactions (MySQL, MariaDB).
    /// What a body writes there stands at once, also where the call fails and the retry writes it
    /// again.
    NotTransactional {
        /// The table, with its database.
        table: String,
        /// Its engine.
        engine: String,
    },

    /// A table beside the records is unlogged (PostgreSQL): a crash of the server empties it, and the
    /// records of the calls that wrote there stay.
    Unlogged {
        /// The table, with its schema.
        table: String,
    },

    /// Row security applies to this account on the table of the records (PostgreSQL). A record that a
    /// policy hides is [`Error::RecordInvisible`](crate::Error::RecordInvisible) to whoever has its
    /// key, and no purge of this account deletes it.
    RowSecurity {
        /// The table of the records.
        table: String,
    },

    /// A trigger runs after writes to the table of the records, or before a whole statement
    /// (PostgreSQL). It changes no record on its way into the table and is not refused. If it deletes or
    /// changes other records, or the one just written, their keys are as if they had never been used, and a
    /// retry has its effect again.
    Trigger {
        /// The table of the records, or its partition.
        table: String,
        /// The trigger.
        trigger: String,
        /// The line to type that removes it.
        fix: String,
    },
}

impl std::fmt::Display for SchemaFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotTransactional { table, engine } => write!(
                f,
                "table `{table}` is of the engine {engine}, which has no transactions: what a body writes there is not rolled back; ALTER TABLE {table} ENGINE = InnoDB"
            ),
            Self::Unlogged { table } => write!(
                f,
                "table `{table}` is unlogged: after a crash the record of a call stands without what it wrote there; ALTER TABLE {table} SET LOGGED"
            ),
            Self::RowSecurity { table } => write!(
                f,
                "row security on table `{table}` applies to this account: a record that it hides is an error to whoever has its key; ALTER TABLE {table} DISABLE ROW LEVEL SECURITY, or give the account BYPASSRLS"
            ),
            Self::Trigger {
                table,
                trigger,
                fix,
            } => write!(
                f,
                "trigger `{trigger}` runs beside writes to table `{table}`: if it deletes or changes a record, a retry of its key has the effect again; unless it writes elsewhere only: {fix}"
            ),
        }
    }
}
