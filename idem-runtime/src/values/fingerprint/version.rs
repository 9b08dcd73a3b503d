//! The versions of the fingerprint.
//!
//! A record is compared by the rules of its own version for as long as it lives. A call has the canonical JSON of its
//! request; the fingerprint of another version than that of this build is computed from it when such a record is met.
//! A new version is a row of [`rules`] and the constant [`FINGERPRINT_VERSION`](super::FINGERPRINT_VERSION). A build
//! that does not know a version refuses its records.

use std::borrow::Cow;

/// How the fingerprint of one version is computed.
pub(super) struct Rules {
    /// The first byte that is hashed.
    pub(super) prefix: u8,
    /// Returns what the version compares of the canonical JSON that this build makes.
    pub(super) of: fn(&[u8]) -> Cow<'_, [u8]>,
}

/// Returns the rules of a version; `None` if this build does not know it.
pub(super) fn rules(version: i16) -> Option<Rules> {
    match version {
        1 => Some(Rules {
            prefix: 1,
            of: |canonical| Cow::Borrowed(canonical),
        }),
        #[cfg(feature = "test-switches")]
        2 if switch::is_on() => Some(Rules {
            prefix: 2,
            of: switch::without_signs,
        }),
        _ => None,
    }
}

#[cfg(feature = "test-switches")]
pub use self::switch::know_version_2;

#[cfg(feature = "test-switches")]
mod switch {
    use std::borrow::Cow;
    use std::sync::atomic::{AtomicBool, Ordering};

    static IS_ON: AtomicBool = AtomicBool::new(false);

    /// Lets this process know a version 2, which compares numbers without their signs, as a later build would.
    pub fn know_version_2() {
        IS_ON.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_on() -> bool {
        IS_ON.load(Ordering::Relaxed)
    }

    pub(super) fn without_signs(canonical: &[u8]) -> Cow<'_, [u8]> {
        Cow::Owned(
            canonical
                .iter()
                .copied()
                .filter(|byte| *byte != b'-')
                .collect(),
        )
    }
}
