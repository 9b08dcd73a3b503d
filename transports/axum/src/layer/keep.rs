//! What becomes of a response.

use http::StatusCode;
use idem_runtime::policy::OnLapse;

/// What becomes of a response, by its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// Recorded: every retry gets it.
    Record,
    /// Passed on, and the key released: a retry runs the service again.
    Release,
    /// Passed on, and the key's outcome unknown: a retry is refused until it is reconciled.
    Unknown,
}

impl Keep {
    /// Unless the layer says otherwise.
    pub(super) fn by_default(status: StatusCode, on_lapse: OnLapse) -> Self {
        match status {
            // 303 is how a POST that made something shows where it is (RFC 9110, section 15.4.4). A
            // connection that goes on as something else was served too: recording it says what of that
            // can be kept.
            StatusCode::SEE_OTHER | StatusCode::SWITCHING_PROTOCOLS => Self::Record,
            _ if status.is_success() => Self::Record,
            _ if leaves_open(status) => Self::in_doubt(on_lapse),
            _ => Self::Release,
        }
    }

    /// Where nobody says whether the effect happened.
    pub(super) fn in_doubt(on_lapse: OnLapse) -> Self {
        match on_lapse {
            OnLapse::Unknown => Self::Unknown,
            OnLapse::Retry => Self::Release,
        }
    }
}

/// A fault, or a time that was over, on the way to the effect or after it. A refusal (4xx) says that
/// there was none.
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
