//! The faults that are planted on purpose.

/// A fault that is planted on purpose and that the checker must find. Its handlers are written by
/// hand; only the record's table and its values are the library's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Planted {
    /// No fault: the annotated handlers.
    Nothing,
    /// Looks up the key, then acts, and no constraint prevents two records of a key.
    NoConstraint,
    /// Commits the effect first and the record afterwards.
    RecordAfter,
    /// Replays a record that a look-up before the claim finds, whatever the request.
    MismatchSkipped,
    /// Treats a refused COMMIT as executed.
    RefusalIgnored,
    /// Makes an effect outside the database without a lease.
    LeaseIgnored,
    /// A lease's heartbeats wait for a connection behind the bodies that fill the pool.
    HeartbeatsShared,
}

impl Planted {
    /// Returns the fault with this name.
    pub fn named(name: &str) -> Option<Self> {
        [
            Self::Nothing,
            Self::NoConstraint,
            Self::RecordAfter,
            Self::MismatchSkipped,
            Self::RefusalIgnored,
            Self::LeaseIgnored,
            Self::HeartbeatsShared,
        ]
        .into_iter()
        .find(|planted| format!("{planted:?}") == name)
    }
}
