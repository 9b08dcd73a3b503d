//! The registry of the program's handlers, with their operations and source locations (feature
//! `registry`).
//!
//! Each annotated handler that is linked into the program registers itself. The attribute sees only
//! one function, so it cannot detect that two handlers share an operation. The registry can: with a
//! shared operation, a key used with one handler replays the result of the other. Call [`check`] in
//! a test or at start-up:
//!
//! ```standalone_crate
//! # #[cfg(all(feature = "macros", feature = "sqlite"))] {
//! use idem_runtime::{IdempotencyKey, idempotent, registry};
//! use sqlx::SqliteTransaction;
//!
//! #[idempotent(namespace = "payments")]
//! async fn settle(_tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), idem_runtime::Error> {
//!     Ok(())
//! }
//!
//! registry::check()?;
//!
//! let settle = registry::handlers().find(|handler| handler.operation() == Some("settle")).unwrap();
//! assert_eq!(settle.namespace(), "payments");
//! # }
//! # Ok::<(), idem_runtime::registry::SharedOperations>(())
//! ```
//!
//! For a transport, a console or a document, an entry also says what the handler asks of its caller: whether a key is
//! required, [where it comes from](KeySource), and the rest of its [policy](Handler::policy). With the feature
//! `schemars`, [`Handler::request_schema`](Handler#method.request_schema) and `result_schema` describe the types that
//! implement `schemars::JsonSchema`. [`handler_of`] finds the entry of a marker type, which a route, a method or a tool
//! names.
//!
//! The registry holds what is known without a call. The name in `operation = expr` is not known,
//! and a generic handler has one entry. An [`Operation`](crate::Operation) that runs without the
//! attribute is not registered. If the program does not refer to a crate, the crate and its handlers are not linked:
//! a lock file (feature `lock`) misses them.

mod shared;
#[cfg(feature = "schemars")]
pub(super) mod types;

pub use self::shared::{SharedOperation, SharedOperations};
#[cfg(feature = "schemars")]
pub use self::types::Parameter;

use std::fmt;

use crate::values::operation::DescribeOperation;
use crate::values::policy::Policy;
use crate::values::spec::OperationSpec;

/// One annotated handler.
#[derive(Debug, Clone, Copy)]
pub struct Handler {
    namespace: &'static str,
    operation: Option<&'static str>,
    function: &'static str,
    source_location: SourceLocation,
    policy: Policy,
    key_source: KeySource,
    #[cfg(feature = "schemars")]
    types: Option<types::HandlerTypes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SourceLocation {
    module: &'static str,
    file: &'static str,
    line: u32,
}

/// Where the key of a handler's calls comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// A parameter of the type [`IdempotencyKey`](crate::IdempotencyKey), beside the request: the caller chooses the
    /// key, and a transport has a place for it (a header, metadata).
    Parameter,
    /// The request itself, by `key = expr`: the same arguments have the same key, and a call needs no other.
    Request,
}

inventory::collect!(Handler);

impl Handler {
    /// Creates the description of a handler.
    #[doc(hidden)]
    pub const fn new(
        namespace: &'static str,
        operation: Option<&'static str>,
        function: &'static str,
        (module, file, line): (&'static str, &'static str, u32),
        policy: Policy,
        key_source: KeySource,
    ) -> Self {
        Self {
            namespace,
            operation,
            function,
            source_location: SourceLocation { module, file, line },
            policy,
            key_source,
            #[cfg(feature = "schemars")]
            types: None,
        }
    }

    /// Returns the key space.
    pub fn namespace(&self) -> &'static str {
        self.namespace
    }

    /// Returns the operation's name, or `None` if it is determined by each call
    /// (`operation = expr`).
    pub fn operation(&self) -> Option<&'static str> {
        self.operation
    }

    /// Returns the name of the function or method, without its type.
    pub fn function(&self) -> &'static str {
        self.function
    }

    /// Returns the options of the operation: whether a key is required, how long a record is kept, what a duplicate of
    /// a running call gets, whether failures are recorded, and the lease, or that there is none.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns where the key of a call comes from.
    pub fn key_source(&self) -> KeySource {
        self.key_source
    }

    /// Returns the path of the module that contains the handler.
    pub fn module(&self) -> &'static str {
        self.source_location.module
    }

    /// Returns the source file of the attribute, as the compiler names it.
    pub fn file(&self) -> &'static str {
        self.source_location.file
    }

    /// Returns the line of the attribute in that file, from 1. For a handler generated by a
    /// `macro_rules!` macro, it is the line of the macro call.
    pub fn line(&self) -> u32 {
        self.source_location.line
    }
}

/// Handlers are equal if all is equal that is said of them, without the types.
impl PartialEq for Handler {
    fn eq(&self, other: &Self) -> bool {
        self.namespace == other.namespace
            && self.operation == other.operation
            && self.function == other.function
            && self.source_location == other.source_location
            && self.policy == other.policy
            && self.key_source == other.key_source
    }
}

impl Eq for Handler {}

impl fmt::Display for Handler {
    /// Writes `module::function (file:line)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourceLocation { module, file, line } = self.source_location;
        write!(f, "{module}::{} ({file}:{line})", self.function)
    }
}

/// Returns the handlers that are linked into this program, in no particular order.
///
/// If the program does not refer to a crate, the crate and its handlers are not linked.
pub fn handlers() -> impl Iterator<Item = &'static Handler> {
    inventory::iter::<Handler>()
}

/// Returns the handler of this operation, or `None` if the program has none or more than one.
///
/// A handler with `operation = expr` is not found.
pub fn handler(namespace: &str, operation: &str) -> Option<&'static Handler> {
    let is_it =
        |handler: &&Handler| handler.namespace == namespace && handler.operation == Some(operation);
    let mut found = handlers().filter(is_it);
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// Returns the handler that the marker type `M` stands for (`marker = M`), as [`handler`] does.
///
/// ```standalone_crate
/// # #[cfg(all(feature = "macros", feature = "sqlite"))] {
/// use idem_runtime::registry::{self, KeySource};
/// use idem_runtime::{IdempotencyKey, idempotent};
/// use sqlx::SqliteTransaction;
///
/// #[idempotent(namespace = "payments", retention = "7d", marker = Settle)]
/// async fn settle(_tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), idem_runtime::Error> {
///     Ok(())
/// }
///
/// let settle = registry::handler_of::<Settle>().expect("it is linked");
/// assert!(settle.policy().key_required);
/// assert_eq!(settle.key_source(), KeySource::Parameter);
/// # }
/// ```
pub fn handler_of<M: DescribeOperation>() -> Option<&'static Handler> {
    let spec: OperationSpec = M::OPERATION.into();
    handler(spec.namespace(), spec.name())
}

/// Checks that no two handlers of the program share an operation.
///
/// Handlers with `operation = expr` are not checked.
///
/// # Errors
/// [`SharedOperations`] with each `(namespace, operation)` that several handlers share, and those
/// handlers.
pub fn check() -> Result<(), SharedOperations> {
    shared::check(handlers())
}
