//! The handlers of a program: the operation of each, and where it stands. Feature `registry`.
//!
//! Each annotated handler that is linked into the program registers itself. An attribute sees one function
//! at a time: that two handlers have one operation, and a key of the one is answered with the result
//! of the other, shows only here. Ask in a test, or at start-up:
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
//! What is registered is known without a call: of `operation = expr` there is no name, and a generic
//! handler is one entry. An [`Operation`](crate::Operation) that is run without the attribute is not in it.

mod shared;

pub use self::shared::{SharedOperation, SharedOperations};

use std::fmt;

/// One annotated handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handler {
    namespace: &'static str,
    operation: Option<&'static str>,
    function: &'static str,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    module: &'static str,
    file: &'static str,
    line: u32,
}

inventory::collect!(Handler);

impl Handler {
    /// A handler, as the attribute knows it.
    #[doc(hidden)]
    pub const fn new(
        namespace: &'static str,
        operation: Option<&'static str>,
        function: &'static str,
        (module, file, line): (&'static str, &'static str, u32),
    ) -> Self {
        Self {
            namespace,
            operation,
            function,
            place: Place { module, file, line },
        }
    }

    /// Returns the key space.
    pub fn namespace(&self) -> &'static str {
        self.namespace
    }

    /// Returns the operation's name, or `None` if only a call knows it (`operation = expr`).
    pub fn operation(&self) -> Option<&'static str> {
        self.operation
    }

    /// Returns the name of the function or method, without its type.
    pub fn function(&self) -> &'static str {
        self.function
    }

    /// Returns the path of the module that the handler stands in.
    pub fn module(&self) -> &'static str {
        self.place.module
    }

    /// Returns the source file of the attribute, as the compiler was told it.
    pub fn file(&self) -> &'static str {
        self.place.file
    }

    /// Returns the line of the attribute in that file, from 1; for a handler out of a `macro_rules!`, the
    /// line of the macro's call.
    pub fn line(&self) -> u32 {
        self.place.line
    }
}

impl fmt::Display for Handler {
    /// `module::function (file:line)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { module, file, line } = self.place;
        write!(f, "{module}::{} ({file}:{line})", self.function)
    }
}

/// Returns the handlers that are linked into this program, in no particular order.
///
/// A crate that the program does not refer to is not linked, and neither are its handlers.
pub fn handlers() -> impl Iterator<Item = &'static Handler> {
    inventory::iter::<Handler>()
}

/// Checks that no two handlers of the program have one operation.
///
/// Handlers whose operation only a call knows are left out.
///
/// # Errors
/// [`SharedOperations`]: each `(namespace, operation)` that several handlers have, with all of them.
pub fn check() -> Result<(), SharedOperations> {
    shared::check(handlers())
}
