//! The options about the versions of what is recorded, of the attribute and of the derive.

use syn::Path;

use super::Slot;

/// What a build reads and writes.
#[derive(Default)]
pub(crate) struct Versions {
    pub(crate) version: Slot<u16>,
    pub(crate) upcast: Slot<Upcast>,
    /// The version that is written; the present one if it is not given.
    pub(crate) written: Slot<u16>,
    /// The function that converts the present type to the version that is written.
    pub(crate) downcast: Slot<Path>,
}

/// How older versions are read.
pub(crate) enum Upcast {
    /// `upcast = off`: they are refused.
    Off,
    /// A function for each of the last versions, the oldest first. Each returns what the next takes.
    Steps(Vec<Path>),
}

impl Upcast {
    pub(crate) fn steps(&self) -> &[Path] {
        match self {
            Self::Off => &[],
            Self::Steps(steps) => steps,
        }
    }
}
