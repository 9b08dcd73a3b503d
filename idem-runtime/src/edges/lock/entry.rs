//! What a handler registers for the lock file.

use schemars::SchemaGenerator;
use serde_json::Value;

/// One handler: what it compares, and which versions it reads and writes.
pub struct LockedHandler {
    pub(super) namespace: &'static str,
    pub(super) operation: Option<&'static str>,
    pub(super) function: &'static str,
    /// Its module, file and line.
    pub(super) source: (&'static str, &'static str, u32),
    /// In seconds.
    pub(super) retention: u64,
    /// The present version of the result, the oldest one that is read, and the one that is written.
    pub(super) versions: [u16; 3],
    pub(super) compared: LockedRequest,
}

inventory::collect!(LockedHandler);

impl LockedHandler {
    /// Describes a handler.
    pub const fn new(
        namespace: &'static str,
        operation: Option<&'static str>,
        function: &'static str,
        source: (&'static str, &'static str, u32),
        retention: u64,
        versions: [u16; 3],
        compared: LockedRequest,
    ) -> Self {
        Self {
            namespace,
            operation,
            function,
            source,
            retention,
            versions,
            compared,
        }
    }
}

/// What a retry must repeat.
pub enum LockedRequest {
    /// The values that these names bind.
    Parameters(&'static [LockedParameter]),
    /// `fingerprint = expr`.
    Expression(&'static str),
    /// `fingerprint = off`.
    Nothing,
}

/// The schema of a type among those of its file; `None` if it has none.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Option<Value>;

/// A compared name.
pub struct LockedParameter {
    pub(super) name: &'static str,
    /// The type as written.
    pub(super) written: &'static str,
    pub(super) schema: SchemaOf,
}

impl LockedParameter {
    /// Describes a compared name.
    pub const fn new(name: &'static str, written: &'static str, schema: SchemaOf) -> Self {
        Self {
            name,
            written,
            schema,
        }
    }
}

/// Registers a handler, inside its own body. The brackets hold the path of the private module.
#[doc(hidden)]
#[macro_export]
macro_rules! __lock {
    (
        [$($p:tt)*]
        namespace: $namespace:literal,
        operation: $operation:expr,
        function: $function:literal,
        retention: $retention:expr,
        versions: $versions:expr,
        compared: $compared:expr,
    ) => {
        $($p)*::submit! {
            $($p)*::LockedHandler::new(
                $namespace,
                $operation,
                $function,
                (::core::module_path!(), ::core::file!(), ::core::line!()),
                $retention,
                $versions,
                $compared,
            )
        }
    };
}

pub use __lock as lock;
