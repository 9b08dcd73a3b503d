//! Why nothing is shown.

use http::{HeaderValue, StatusCode};

/// Why an authoriser shows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) challenge: Option<HeaderValue>,
    pub(crate) location: Option<HeaderValue>,
}

impl Refused {
    const fn of(status: StatusCode) -> Self {
        Self {
            status,
            challenge: None,
            location: None,
        }
    }

    /// Nobody is known to ask: 401.
    pub const fn unauthenticated() -> Self {
        Self::of(StatusCode::UNAUTHORIZED)
    }

    /// Who asks may not see the pages: 403.
    pub const fn forbidden() -> Self {
        Self::of(StatusCode::FORBIDDEN)
    }

    /// It cannot be found out now who asks: 503.
    pub const fn unavailable() -> Self {
        Self::of(StatusCode::SERVICE_UNAVAILABLE)
    }

    /// Adds the header `WWW-Authenticate`, by which a browser asks for name and password.
    #[must_use]
    pub fn challenge(mut self, challenge: HeaderValue) -> Self {
        self.challenge = Some(challenge);
        self
    }

    /// Sends the browser to another address, where one signs in: 303.
    pub fn sign_in_at(location: HeaderValue) -> Self {
        Self {
            location: Some(location),
            ..Self::of(StatusCode::SEE_OTHER)
        }
    }
}
