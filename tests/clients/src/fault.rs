//! What may become of a request on its way.

use std::str::FromStr;

use idem_runtime::http::Problem;

/// What the proxy does with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `pass`: nothing.
    Pass,
    /// `unsent`: cuts the connection; the service never sees the request.
    Unsent,
    /// `lost`: lets the service commit, and cuts the connection without an answer.
    Lost,
    /// `half`: lets the service commit, and cuts the connection in the middle of the answer's body.
    Half,
    /// `half-chunked`: the same without the answer's length, so that only the end of the last chunk is missing.
    HalfChunked,
    /// `502-after`: lets the service commit, and answers with this status.
    After(u16),
    /// `503`: answers with this status and `Retry-After: 1`; the service never sees the request. 409 is the service's
    /// own refusal `in-flight`.
    Instead(u16),
    /// `moved-303`: lets the service commit, and redirects to its list of effects, at the same origin.
    Moved(u16),
    /// `kept-307`: redirects to the same address, before the service sees the request.
    Kept(u16),
    /// `away-307`: redirects to another origin.
    Away(u16),
}

/// The seconds in `Retry-After`.
pub const RETRY_AFTER: u64 = 1;

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let status = |digits: &str| {
            let status = digits.parse();
            status.map_err(|_| format!("{text} is no fault"))
        };
        Ok(match text {
            "pass" => Self::Pass,
            "unsent" => Self::Unsent,
            "lost" => Self::Lost,
            "half" => Self::Half,
            "half-chunked" => Self::HalfChunked,
            _ => {
                if let Some(digits) = text.strip_suffix("-after") {
                    Self::After(status(digits)?)
                } else if let Some(digits) = text.strip_prefix("moved-") {
                    Self::Moved(status(digits)?)
                } else if let Some(digits) = text.strip_prefix("kept-") {
                    Self::Kept(status(digits)?)
                } else if let Some(digits) = text.strip_prefix("away-") {
                    Self::Away(status(digits)?)
                } else {
                    Self::Instead(status(text)?)
                }
            }
        })
    }
}

impl Fault {
    /// Reads a plan: faults with commas between them.
    ///
    /// # Errors
    ///
    /// Returns the text that is no fault.
    pub fn plan(text: &str) -> Result<Vec<Self>, String> {
        text.split(',').map(str::parse).collect()
    }

    /// Returns whether the service gets the request.
    pub fn reaches_the_service(self) -> bool {
        matches!(
            self,
            Self::Pass
                | Self::Lost
                | Self::Half
                | Self::HalfChunked
                | Self::After(_)
                | Self::Moved(_)
        )
    }
}

/// Returns the service's refusal of a request whose key is in flight.
pub fn in_flight() -> Problem {
    let mut problem = Problem::new(
        "in-flight",
        "A request is outstanding for this Idempotency-Key",
        409_u16,
        "another request with this key is running",
    );
    problem.retry_after = Some(RETRY_AFTER);
    problem
}

#[cfg(test)]
mod tests {
    use super::Fault;

    #[test]
    fn a_plan_is_read_in_its_order_and_a_typing_error_is_found() {
        let plan = Fault::plan("lost,half-chunked,502-after,409,moved-303,kept-308,away-307,pass");
        let expected = [
            Fault::Lost,
            Fault::HalfChunked,
            Fault::After(502),
            Fault::Instead(409),
            Fault::Moved(303),
            Fault::Kept(308),
            Fault::Away(307),
            Fault::Pass,
        ];
        assert_eq!(plan.as_deref(), Ok(&expected[..]));
        assert_eq!(Fault::plan("lots"), Err("lots is no fault".to_owned()));
    }
}
