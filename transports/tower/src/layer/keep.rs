//! Decides whether a response is recorded.

use http::StatusCode;
use idem_runtime::policy::OnLapse;

/// How a response is treated, by its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// Record it: every retry gets it.
    Record,
    /// Return it and release the key: a retry runs the service again.
    Release,
    /// Return it and make the key's outcome unknown: a retry is refused until the outcome is settled.
    Unknown,
}

impl Keep {
    /// Returns the default treatment.
    pub(super) fn by_default(status: StatusCode, on_lapse: OnLapse) -> Self {
        match status {
            // 303 is how a POST points to the resource it created (RFC 9110, section 15.4.4). An upgraded
            // connection (101) was served as well: an attempt to record it fails with the reason why it
            // cannot be recorded.
            StatusCode::SEE_OTHER | StatusCode::SWITCHING_PROTOCOLS => Self::Record,
            _ if status.is_success() => Self::Record,
            _ if leaves_open(status) => Self::in_doubt(on_lapse),
            _ => Self::Release,
        }
    }

    /// Returns the treatment of a response that leaves open whether the effect happened: unknown, or released if the
    /// operation may be repeated.
    pub fn in_doubt(on_lapse: OnLapse) -> Self {
        match on_lapse {
            OnLapse::Unknown => Self::Unknown,
            OnLapse::Retry => Self::Release,
        }
    }
}

/// Returns whether the status is a fault or a time-out that may have happened before or after the effect. A
/// refusal (4xx) means that there was no effect.
fn leaves_open(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_it_open_whether_it_happened_follows_the_operation_and_all_else_does_not() {
        for code in 100..1000 {
            let status = StatusCode::from_u16(code).expect("three digits");
            let by = |on_lapse| Keep::by_default(status, on_lapse);
            let expected = match code {
                101 | 200..=299 | 303 => (Keep::Record, Keep::Record),
                408 | 500..=599 => (Keep::Unknown, Keep::Release),
                _ => (Keep::Release, Keep::Release),
            };
            let found = (by(OnLapse::Unknown), by(OnLapse::Retry));
            assert_eq!(found, expected, "{code}");
        }
    }
}
