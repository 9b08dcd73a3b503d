//! What all pages have in common, and what one request brings.

use std::sync::Arc;
use std::time::Duration;

use idem_messaging::outbox::Outbox;
use idem_runtime::operate::{Author, OperateSession, Operator};
use sqlx::Pool;

use crate::authorise::{AnyAuthoriser, Principal};
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::fields::Fields;
use crate::guard::form_token::Secret;
use crate::pages::text::handler_path;

/// What all pages have in common.
pub(crate) struct Site<DB: ConsoleDatabase> {
    pub(crate) pool: Pool<DB>,
    pub(crate) operator: Operator<DB>,
    pub(crate) outbox: Option<Outbox>,
    pub(crate) authoriser: Box<dyn AnyAuthoriser>,
    pub(crate) secret: Secret,
    pub(crate) deadline: Duration,
    pub(crate) base: Option<String>,
    pub(crate) origin: Option<String>,
    pub(crate) has_secure_cookie: bool,
    pub(crate) shows_process: bool,
    pub(crate) shows_handlers: bool,
}

impl<DB: ConsoleDatabase> Site<DB> {
    pub(crate) fn database() -> &'static str {
        <DB::Connection as OperateSession>::DIALECT.name
    }

    /// Returns the path of a handler's page, if this program has the handler and the console shows it.
    pub(crate) fn handler_path(&self, namespace: &str, operation: &str) -> Option<String> {
        #[cfg(feature = "registry")]
        let is_known = crate::pages::handlers::of(namespace, operation)
            .next()
            .is_some();
        #[cfg(not(feature = "registry"))]
        let is_known = false;
        (self.shows_handlers && is_known).then(|| handler_path(namespace, operation))
    }

    pub(crate) fn outbox(&self) -> Result<&Outbox, Fault> {
        let none = || Fault::not_found("This console has no outbox.");
        self.outbox.as_ref().ok_or_else(none)
    }
}

/// One request of somebody who may read.
pub(crate) struct Visit<DB: ConsoleDatabase> {
    pub(crate) site: Arc<Site<DB>>,
    pub(crate) principal: Principal,
    /// The path below which the console is.
    pub(crate) base: String,
    /// The token of this page's forms.
    pub(crate) token: String,
    /// The query, or the fields of a form.
    pub(crate) fields: Fields,
}

impl<DB: ConsoleDatabase> Visit<DB> {
    /// Logs that payloads of a table are shown: to whom, and whose. Whose is the hash that events have of a key, or an
    /// event's id.
    pub(crate) fn log_reveal(&self, table: &str, whose: &str) {
        let principal = self.principal.name();
        tracing::info!(target: "idem", principal, table, whose, "payloads shown");
    }

    /// Returns who makes a change, and why.
    pub(crate) fn author(&self) -> Result<Author, Fault> {
        let reason = self.fields.get("reason").trim();
        if reason.is_empty() {
            return Err(Fault::bad("A reason is missing. Nothing was changed.")
                .mend("Say why, for the audit table."));
        }
        Ok(Author::new(self.principal.name(), reason)?)
    }
}
