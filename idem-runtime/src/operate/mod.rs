//! What an operator does: looks at records, settles what is unknown, frees what is stuck, deletes, and holds.
//!
//! [`Operator`] works on one table through a pool of its own. The command line `idem` and the pages of `idem-console`
//! are made of it.
//!
//! Every change is made as the record was read (the write names the attempt that the operator saw), in one transaction with
//! a row of `idem_audit` that says who did what, when and why. Without that table nothing can be changed:
//! [`schema`] has its migration.
//!
//! A change is one of those that the library itself makes, by the same statements: see [`lease`](crate::lease). So an owner
//! that comes back after its record was resolved or released is told that its lease is lost.
//!
//! ```
//! # #[cfg(feature = "sqlite")]
//! # async fn example(pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
//! use idem_runtime::operate::{Author, Filter, Operator, Resolution, StoredStatus};
//!
//! let operator = Operator::new(pool);
//! let author = Author::new("ada", "the provider has the charge: ch_17")?;
//! let filter = Filter { statuses: vec![StoredStatus::UNKNOWN], ..Filter::default() };
//! for record in operator.list(&filter).await? {
//!     let resolution = Resolution::Completed(br#"{"charge":"ch_17"}"#.to_vec());
//!     operator.resolve(&record, &resolution, &author).await?;
//! }
//! # Ok(()) }
//! ```

mod audit;
mod count;
mod doctor;
mod error;
mod explain;
mod forget;
mod form;
mod health;
mod history;
mod hold;
mod hours;
mod list;
mod operator;
mod read;
mod release;
mod resolve;
pub mod schema;
mod search;
mod show;
mod statement;
mod status;
mod sweep;
#[cfg(all(test, feature = "sqlite"))]
mod tests;

pub use self::audit::{AUDIT_TABLE, AuditedChange, Author, audit, audit_table_of};
pub use self::count::{Count, Stats};
pub use self::doctor::Examination;
pub use self::error::OperateError;
pub use self::explain::{Comparison, Difference, Explanation, Submitted};
pub use self::forget::Forgotten;
pub use self::form::PayloadForm;
pub use self::health::{LeaseHealth, PurgeHealth};
pub use self::history::AuditRow;
pub use self::hold::Hold;
pub use self::hours::{HourCount, Hours};
pub use self::list::Filter;
pub use self::operator::Operator;
pub use self::read::{RecordKey, RecordSummary};
pub use self::release::Released;
pub use self::resolve::Resolution;
pub use self::search::{Search, SearchResult, Sought};
pub use self::show::RecordDetail;
pub use self::statement::{audited, cells};
pub use self::status::StoredStatus;
pub use crate::calls::telemetry::{ProcessCounts, process_counts};
#[doc(hidden)]
pub use crate::stores::doctor::Facts;
pub use crate::stores::doctor::{Finding, Severity};
pub use crate::stores::operate::{Cells, Dialect, OperateBackend, OperateSession, clock};
