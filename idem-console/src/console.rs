//! The console: what is shown, to whom, and where.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::map_response;
use axum::routing::{get, post};
use idem_messaging::outbox::{Outbox, OutboxDatabase};
use idem_runtime::error::Invalid;
use idem_runtime::operate::{OperateBackend, Operator};
use sqlx::Pool;

use crate::answer::{change, nowhere, read, style};
use crate::authorise::Authoriser;
use crate::guard::form_token::Secret;
use crate::guard::headers;
use crate::site::Site;
use crate::{changes, pages};

/// A database whose tables a console can show: PostgreSQL, MySQL and MariaDB, SQLite.
pub trait ConsoleDatabase: OperateBackend + OutboxDatabase {}

impl<DB: OperateBackend + OutboxDatabase> ConsoleDatabase for DB {}

/// Why a console cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsoleError {
    /// The path does not begin with `/`, ends with it, or has other characters than letters, digits and `/ - _ .`.
    #[error(
        "`{path}` is no path for a console: begin with `/`, end without it, and use a-z A-Z 0-9 / - _ . only"
    )]
    Path {
        /// The path.
        path: String,
    },
    /// The origin is not `scheme://host`, with a port where it is not the scheme's own.
    #[error("`{origin}` is no origin: write it as browsers do, such as https://ops.example.com")]
    Origin {
        /// The origin.
        origin: String,
    },
}

/// A form may have a result of 1 MiB, of which browsers make up to three times as much.
const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// The console of one table of records, and of an outbox.
#[must_use = "a console is shown by its router"]
pub struct Console<DB: ConsoleDatabase>(Site<DB>);

impl<DB: ConsoleDatabase> Console<DB> {
    /// Creates a console of the default tables, `idem_record` and `idem_outbox`. There is none without an authoriser.
    pub fn new(pool: Pool<DB>, authoriser: impl Authoriser) -> Self {
        Self(Site {
            operator: Operator::new(pool.clone()),
            pool,
            outbox: Some(Outbox::new()),
            authoriser: Box::new(authoriser),
            secret: Secret::random(),
            deadline: Duration::from_secs(3),
            base: None,
            origin: None,
            has_secure_cookie: false,
            shows_process: false,
            shows_handlers: false,
        })
    }

    /// Sets another table of records, `[schema.]name`.
    ///
    /// # Errors
    /// [`Invalid`] if the text is no such identifier.
    pub fn table(mut self, table: &str) -> Result<Self, Invalid> {
        self.0.operator = self.0.operator.table(table)?;
        Ok(self)
    }

    /// Sets another outbox. A requeued event wakes the relays of this process that share it.
    pub fn outbox(mut self, outbox: Outbox) -> Self {
        self.0.outbox = Some(outbox);
        self
    }

    /// Leaves out the pages of the outbox.
    pub fn without_outbox(mut self) -> Self {
        self.0.outbox = None;
        self
    }

    /// Sets how long a page may wait for the database, for a connection too: 3 seconds by default. Then it is answered with
    /// 503. A change goes on in the background, and the answer says so.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.0.deadline = deadline;
        self
    }

    /// Shows the replays and conflicts of this process too. They write nothing, so nobody else knows of them: for a console in
    /// the service whose handlers they are.
    pub fn process_counts(mut self) -> Self {
        self.0.shows_process = true;
        self
    }

    /// Shows the handlers of this program too, as its [registry](idem_runtime::registry) has them, each with its policy and with the
    /// feature `schemars` its schemas: for a console in the service whose handlers they are.
    #[cfg(feature = "registry")]
    pub fn handlers(mut self) -> Self {
        self.0.shows_handlers = true;
        self
    }

    /// Sends the cookie with `Secure`: for a console that browsers reach over HTTPS only.
    pub fn secure_cookie(mut self) -> Self {
        self.0.has_secure_cookie = true;
        self
    }

    /// Sets the key of the forms' tokens, 32 random bytes, where several processes serve one console: each must accept the
    /// others' forms. By default each process draws its own.
    pub fn form_secret(mut self, secret: [u8; 32]) -> Self {
        self.0.secret = Secret::of(secret);
        self
    }

    /// Sets the path at which browsers see the console, such as `/ops/idem`, where a proxy shows it at another one than the
    /// service does. By default it is that of `Router::nest`.
    ///
    /// # Errors
    /// [`ConsoleError::Path`].
    pub fn base_path(mut self, path: &str) -> Result<Self, ConsoleError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
        let is_path = path.starts_with('/') && !path.ends_with('/') && !path.starts_with("//");
        if !is_path || !path.bytes().all(is_plain) {
            return Err(ConsoleError::Path {
                path: path.to_owned(),
            });
        }
        self.0.base = Some(path.to_owned());
        Ok(self)
    }

    /// Sets the origin at which browsers see the console, such as `https://ops.example.com`, where a proxy sends another
    /// `Host` than the browser did. A form of any other origin is refused.
    ///
    /// # Errors
    /// [`ConsoleError::Origin`].
    pub fn origin(mut self, origin: &str) -> Result<Self, ConsoleError> {
        let uri = origin.parse::<http::Uri>();
        let is_origin = uri.is_ok_and(|uri| {
            let scheme = uri.scheme_str().unwrap_or_default();
            let authority = uri.authority().map_or("", |authority| authority.as_str());
            ["http", "https"].contains(&scheme) && format!("{scheme}://{authority}") == origin
        });
        if !is_origin {
            return Err(ConsoleError::Origin {
                origin: origin.to_owned(),
            });
        }
        self.0.origin = Some(origin.to_owned());
        Ok(self)
    }

    /// Returns the pages as a router: serve it, or nest it in a service (`Router::nest("/idem", ..)`).
    pub fn router(self) -> Router {
        let has_outbox = self.0.outbox.is_some();
        #[cfg(feature = "registry")]
        let shows_handlers = self.0.shows_handlers;
        let mut router = Router::new()
            .route("/", get(read!(pages::overview::page)))
            .route("/search", get(read!(pages::search::page)))
            .route("/record", get(read!(pages::record::page)))
            .route("/unknown", get(read!(pages::unknown::page)))
            .route("/health", get(read!(pages::health::page)))
            .route("/changes", get(read!(pages::changes::page)))
            .route("/record/resolve", post(change!(changes::resolve::change)))
            .route("/record/release", post(change!(changes::release::change)))
            .route("/style.css", get(style));
        if has_outbox {
            router = router
                .route("/outbox", get(read!(pages::outbox::page)))
                .route("/event", get(read!(pages::event::page)))
                .route("/outbox/requeue", post(change!(changes::outbox::requeue)))
                .route("/outbox/resume", post(change!(changes::outbox::resume)));
        }
        #[cfg(feature = "registry")]
        if shows_handlers {
            router = router
                .route("/handlers", get(read!(pages::handlers::page)))
                .route("/handler", get(read!(pages::handlers::one)));
        }
        router
            .fallback(read!(nowhere))
            .method_not_allowed_fallback(read!(nowhere))
            .layer(DefaultBodyLimit::max(BODY_LIMIT))
            .layer(map_response(headers::set))
            .with_state(Arc::new(self.0))
    }
}

impl<DB: ConsoleDatabase> std::fmt::Debug for Console<DB> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console")
            .field("table", &self.0.operator.table_name())
            .field("base", &self.0.base)
            .finish_non_exhaustive()
    }
}
