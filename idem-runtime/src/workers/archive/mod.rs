//! Keeps what a purge deletes.
//!
//! A row of `idem_archive` says who (namespace, scope, key, attempt), what (operation, hash of the request), when, and how it
//! ended (status, hash of the result or failure), and is written in the transaction that deletes the record. The payloads
//! themselves are kept only if [`Archive::payloads`] says so. The archive has a retention of its own.

mod batch;
mod record;
mod retire;
mod settings;

pub(crate) use self::batch::{
    Archiver, Batch, Destination, PurgeFunction, archive_and_delete, boxed,
};
pub use self::record::PurgedRecord;
pub(crate) use self::retire::{Retirer, count_retired, retire};
pub(crate) use self::settings::check_retention;
pub use self::settings::{ARCHIVE_TABLE, Archive, archive_table_of};
