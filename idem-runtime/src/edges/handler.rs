//! The names in the signature of a generated handler, and in the messages of the compiler about one.
//!
//! Nobody needs to type most of them: they bound what a handler may be and what its callers may pass, and
//! each says in its message what to write instead. [`Begin`] and [`LeaseSource`] are for a function that passes
//! on what its own caller gave it; [`DescribeOperation`] is for whatever reads the operation of a handler's marker.

pub use crate::calls::atomic::{Begin, Source, TransactionParam};
pub use crate::calls::kit::{
    Compared, FailureMode, HandlerError, HandlerResult, RecordRead, RecordWrite,
};
pub use crate::calls::lease::LeaseSource;
pub use crate::values::key::source::{KeyPart, KeySource, ScopeSource};
pub use crate::values::operation::DescribeOperation;
pub use crate::values::replay::ReplayableCall;
pub use crate::values::spec::OperationSpec;
