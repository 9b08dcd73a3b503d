//! The traits in the signature of a generated handler, and in the compiler's messages about it.
//!
//! Most of them are never typed: they restrict the types of a handler and of its callers' arguments, and
//! their messages say what to write instead. [`Begin`] and [`LeaseSource`] are for a function that passes
//! its own caller's argument on; [`DescribeOperation`] is for code that reads the operation of a handler's marker.

pub use crate::calls::atomic::{Begin, Source, TransactionParam};
pub use crate::calls::kit::{
    Compared, FailureMode, HandlerError, HandlerResult, RecordRead, RecordWrite,
};
pub use crate::calls::lease::LeaseSource;
pub use crate::values::key::source::{KeyPart, KeySource, ScopeSource};
pub use crate::values::operation::DescribeOperation;
pub use crate::values::replay::ReplayableCall;
pub use crate::values::spec::OperationSpec;
