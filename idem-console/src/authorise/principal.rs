//! Who asks.

use idem_runtime::operate::{Author, OperateError};

/// Who asks, and what he may: to read, if nothing else is said.
///
/// Its name is what the audit table says of a change. `Debug` leaves out the session.
#[derive(Clone, PartialEq, Eq)]
pub struct Principal {
    name: String,
    session: String,
    may_change: bool,
    may_reveal: bool,
}

impl std::fmt::Debug for Principal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Principal")
            .field("name", &self.name)
            .field("may_change", &self.may_change)
            .field("may_reveal", &self.may_reveal)
            .finish_non_exhaustive()
    }
}

impl Principal {
    /// Creates a principal who may read.
    ///
    /// # Errors
    /// [`OperateError::Name`] if the name is blank, longer than 255 characters, or has a control character: the audit table
    /// would not take it.
    pub fn new(name: impl Into<String>) -> Result<Self, OperateError> {
        let name = name.into();
        Author::new(&name, "reads")?;
        Ok(Self {
            name,
            session: String::new(),
            may_change: false,
            may_reveal: false,
        })
    }

    /// Lets him change records and events.
    #[must_use]
    pub fn may_change(mut self) -> Self {
        self.may_change = true;
        self
    }

    /// Lets him see payloads: requests, results, failures, headers.
    #[must_use]
    pub fn may_reveal(mut self) -> Self {
        self.may_reveal = true;
        self
    }

    /// Binds the forms of his pages to a session of the service: a form of another session is refused.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.session = id.into();
        self
    }

    /// Returns his name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether he may change records and events.
    pub fn can_change(&self) -> bool {
        self.may_change
    }

    /// Returns whether he may see payloads.
    pub fn can_reveal(&self) -> bool {
        self.may_reveal
    }

    pub(crate) fn session_id(&self) -> &str {
        &self.session
    }
}
