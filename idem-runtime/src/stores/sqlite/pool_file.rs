//! What the calls of one pool have learnt of its file, so that each need not ask again.
//!
//! It is of the pool, and not of the process: a file that is put in the place of another is met by a pool of its own.
//! While a pool is open, its file must not be replaced (<https://sqlite.org/howtocorrupt.html>).

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::super::session::BodyWrites;
use super::sql;

/// A pool's file.
#[derive(Debug, Default)]
pub(super) struct PoolFile {
    /// The path, as SQLite says it.
    path: OnceLock<Arc<str>>,
    /// Whether the connections share a cache, and can read what is not committed.
    shares_cache: bool,
    tables: Mutex<Vec<Arc<FileTable>>>,
}

/// A table of a pool's file.
#[derive(Debug)]
pub(super) struct FileTable {
    name: String,
    pub(super) probe: Arc<str>,
    pub(super) claim: Arc<str>,
    /// Records what replaces no record, and keeps what the body wrote.
    pub(super) record: Arc<str>,
    /// The number of the schema's last change when the table was found fit. Every change of a file's schema
    /// changes the number (<https://sqlite.org/pragma.html#pragma_schema_version>).
    verified: Mutex<Option<i64>>,
}

impl FileTable {
    fn new(name: &str, shares_cache: bool) -> Self {
        Self {
            name: name.to_owned(),
            probe: sql::unit::probe(name, shares_cache).into(),
            claim: sql::unit::claim(name).into(),
            record: sql::unit::record(name, false, BodyWrites::Keep).into(),
            verified: Mutex::default(),
        }
    }

    /// Returns whether the table was found fit, and the schema is as it was then.
    pub(super) fn is_verified(&self, version: i64) -> bool {
        *self.verified.lock().unwrap_or_else(PoisonError::into_inner) == Some(version)
    }

    /// Remembers that the table is fit as of this change of the schema.
    pub(super) fn set_verified(&self, version: i64) {
        *self.verified.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
    }
}

impl PoolFile {
    pub(super) fn new(shares_cache: bool) -> Self {
        Self {
            shares_cache,
            ..Self::default()
        }
    }

    /// Returns the path, or an empty text while no call has learnt it.
    pub(super) fn path(&self) -> &str {
        self.path.get().map_or("", |path| path)
    }

    pub(super) fn known_path(&self) -> Option<&Arc<str>> {
        self.path.get()
    }

    pub(super) fn learn(&self, path: String) -> &Arc<str> {
        self.path.get_or_init(|| path.into())
    }

    /// Returns the table of this name.
    pub(super) fn table(&self, name: &str) -> Arc<FileTable> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = tables.iter().find(|table| table.name == name) {
            return Arc::clone(table);
        }
        let table = Arc::new(FileTable::new(name, self.shares_cache));
        tables.push(Arc::clone(&table));
        table
    }
}
