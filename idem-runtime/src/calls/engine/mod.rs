//! The engine: runs one call of a handler.

pub(crate) mod answer;
mod claim;
pub(crate) mod contract;
mod ending;
mod failures;
pub(crate) mod flow;
pub(crate) mod pooled_conn;
pub(crate) mod request;
mod resolve;
mod run;
pub(crate) mod source;
pub(crate) mod unit;

pub use self::contract::{HandlerError, HandlerResult, RecordRead, RecordWrite};
pub use self::failures::FailureMode;
pub use self::request::Compared;
pub(crate) use self::resolve::RESOLVE_WITHIN;
pub use self::source::{Begin, Source, TransactionParam};
