//! The parts that the two flows share: the request and its answer, the handler's types, connections
//! and waiting.

pub(crate) mod answer;
pub(crate) mod answer_named;
pub(crate) mod backoff;
pub(crate) mod contract;
pub(crate) mod decoded_answer;
mod failure_mode;
pub(crate) mod look;
pub(crate) mod pooled_conn;
pub(crate) mod request;
pub(crate) mod review;
pub(crate) mod switched_off;
#[cfg(not(feature = "test-switches"))]
pub(crate) mod waiters;
#[cfg(feature = "test-switches")]
pub mod waiters;

pub use self::contract::{HandlerError, HandlerResult, RecordRead, RecordWrite};
pub use self::failure_mode::FailureMode;
pub use self::request::Compared;
