//! What is said of a record that this build does not read.

use super::logged;

/// The version of a recorded result or failure, and the versions that this build reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedVersion {
    /// The version of the record.
    pub recorded: u16,
    /// The oldest version that this build reads.
    pub oldest: u16,
    /// The newest version that this build reads: the `result_version` of the handler.
    pub newest: u16,
}

impl RecordedVersion {
    /// Returns whether a newer build wrote the record: a retry may reach one.
    pub const fn is_newer(&self) -> bool {
        self.recorded > self.newest
    }
}

/// Returns the error's text, without anything that the payload holds.
pub(super) fn text(
    operation: &str,
    type_name: &str,
    message: &str,
    version: Option<RecordedVersion>,
) -> String {
    let position = logged::position(message);
    let Some(version) = version else {
        return format!(
            "the record of operation `{operation}` does not decode into `{type_name}`{position}; the body did not run: \
             read it with a build that knows its format (the fields `path` and `message` say where and why, and may \
             quote it)"
        );
    };
    let RecordedVersion {
        recorded,
        oldest,
        newest,
    } = version;
    let known = if oldest == newest {
        format!("version {newest}")
    } else {
        format!("versions {oldest} to {newest}")
    };
    let record = format!(
        "the record of operation `{operation}` has version {recorded} of `{type_name}`, of which this build reads {known}"
    );
    if version.is_newer() {
        format!(
            "{record}; the body did not run: try again with the same key, a newer node of the deploy reads it"
        )
    } else if recorded < oldest {
        format!(
            "{record}; the body did not run: read it with a build that knows the version, or keep its `upcast` for as long as records live"
        )
    } else {
        format!(
            "{record}, and its upcast failed{position}; the body did not run (the fields `path` and `message` say where and why, and may quote it)"
        )
    }
}
