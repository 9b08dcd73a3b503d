//! The layer, and how it is made.

use std::fmt;
use std::time::Duration;

use http::HeaderName;
use http::request::Parts;
use idem_runtime::store::LeaseBackend;
use idem_runtime::{LeasedOperation, Scope};
use idem_tower::Keep;
use idem_tower::layer::{self, ReplayLayer};
use sqlx::Pool;
use tonic::Code;
use tower_layer::Layer;

use super::Grpc;
use crate::refusal::Refusal;

/// The service of [`IdempotencyLayer`].
pub type IdempotencyService<DB, S> = layer::IdempotencyService<DB, S, Grpc>;

/// What a client changes from one attempt of a call to the next.
const OF_THE_ATTEMPT: [&str; 5] = [
    "grpc-accept-encoding",
    "grpc-previous-rpc-attempts",
    "grpc-timeout",
    "te",
    "user-agent",
];

/// Replays whole answers of unary methods. See [the module](super).
pub struct IdempotencyLayer<DB: LeaseBackend>(ReplayLayer<DB, Grpc>);

/// A layer that has no scope yet: call [`scope`](Self::scope) or [`global`](Self::global).
///
/// ```compile_fail
/// # use idem_tonic::layer::IdempotencyLayer;
/// # use {idem_runtime::{LeasedOperation, Operation, policy::OnLapse}, std::time::Duration};
/// # use tower_layer::Layer as _;
/// # const MINUTE: Duration = Duration::from_secs(60);
/// # fn wrap(pool: sqlx::SqlitePool, service: ()) {
/// const CHARGE: LeasedOperation = Operation::new("shop", "grpc").lease(MINUTE, OnLapse::Retry);
/// IdempotencyLayer::new(pool, CHARGE).layer(service); // no scope
/// # }
/// ```
#[must_use = "set the scope of the keys: `.scope(..)` or `.global()`"]
pub struct Unscoped<DB: LeaseBackend>(layer::Unscoped<DB, Grpc>);

impl<DB: LeaseBackend> Unscoped<DB> {
    /// Sets the function that returns the scope of a call's key: the tenant or principal that authentication set. If it
    /// returns `None`, the call is refused.
    pub fn scope(
        self,
        scope: impl Fn(&Parts) -> Option<Scope> + Send + Sync + 'static,
    ) -> IdempotencyLayer<DB> {
        IdempotencyLayer(self.0.scope(scope))
    }

    /// Uses one scope for all calls to an authority: all callers who send a key mean the same effect, and may see its
    /// answer. The same key at another authority is a mismatch.
    pub fn global(self) -> IdempotencyLayer<DB> {
        IdempotencyLayer(self.0.global())
    }
}

impl<DB: LeaseBackend> IdempotencyLayer<DB> {
    /// Creates a layer that stores its records through `pool`, under `operation`'s namespace, retention and lease.
    #[expect(clippy::new_ret_no_self, reason = "it is no layer without a scope")]
    pub fn new(pool: Pool<DB>, operation: LeasedOperation) -> Unscoped<DB> {
        Unscoped(ReplayLayer::new(pool, operation))
    }

    /// Covers these methods alone, by their paths: `/package.Service/Method`. By default the layer covers all.
    ///
    /// # Panics
    /// Panics if a path does not have this form: no call would have it, and the method would be called without protection.
    #[must_use]
    pub fn methods(self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let paths = paths.into_iter().map(Into::into);
        let paths = paths.inspect(|path: &String| {
            assert!(
                is_path(path),
                "`{path}` is no path of a method: write `/package.Service/Method`"
            );
        });
        let paths = paths.collect();
        Self(self.0.with_options(|options| options.methods = Some(paths)))
    }

    /// Lets calls without a key pass, unprotected. A call with a key under a name that is not read is refused.
    #[must_use]
    pub fn optional_key(self) -> Self {
        Self(self.0.optional_key())
    }

    /// Compares these metadata of a call too, with all their values. They are stored in the record, like the rest of the
    /// request: do not name metadata that hold a secret.
    ///
    /// # Panics
    /// Panics if a name is not in lower case, or is one of those that a client changes from one attempt to the next:
    /// `grpc-accept-encoding`, `grpc-previous-rpc-attempts`, `grpc-timeout`, `te`, `user-agent`.
    #[must_use]
    pub fn compare_metadata(self, names: impl IntoIterator<Item = &'static str>) -> Self {
        let names = names.into_iter().inspect(|name| {
            assert!(
                !OF_THE_ATTEMPT.contains(name),
                "`{name}` differs from one attempt of a call to the next: a retry would be refused"
            );
        });
        Self(self.0.compare_headers(names.map(HeaderName::from_static)))
    }

    /// Records these metadata of an answer too.
    ///
    /// # Panics
    /// Panics if a name is not in lower case.
    #[must_use]
    pub fn record_metadata(self, names: impl IntoIterator<Item = &'static str>) -> Self {
        let names = names.into_iter().map(HeaderName::from_static);
        Self(self.0.record_headers(names))
    }

    /// Records none of these metadata of an answer.
    ///
    /// # Panics
    /// Panics if a name is not in lower case.
    #[must_use]
    pub fn omit_metadata(self, names: impl IntoIterator<Item = &'static str>) -> Self {
        let names = names.into_iter().map(HeaderName::from_static);
        Self(self.0.omit_headers(names))
    }

    /// Sets how an answer is treated, by its code: `grpc-status` among the trailers, or in the head of an answer that has
    /// nothing else. The HTTP status is not looked at. The default is [`keep`](super::keep()):
    ///
    /// | code | under `OnLapse::Unknown` | under `OnLapse::Retry` |
    /// |---|---|---|
    /// | `OK` | recorded | recorded |
    /// | `CANCELLED`, `UNKNOWN`, `DEADLINE_EXCEEDED`, `INTERNAL`, `UNAVAILABLE`, `DATA_LOSS` | unknown: the effect may have happened | released |
    /// | `INVALID_ARGUMENT`, `NOT_FOUND`, `ALREADY_EXISTS`, `PERMISSION_DENIED`, `RESOURCE_EXHAUSTED`, `FAILED_PRECONDITION`, `ABORTED`, `OUT_OF_RANGE`, `UNIMPLEMENTED`, `UNAUTHENTICATED` | released: the call was refused | released |
    ///
    /// An answer without a code counts as `UNKNOWN`. So does an error that an inner service returns in place of an answer, which
    /// is not asked about here.
    ///
    /// A method that passes on the status of another service passes on those of gRPC's libraries too: they answer
    /// `RESOURCE_EXHAUSTED`, and tonic `OUT_OF_RANGE`, to an answer that is longer than the client reads, after its effect.
    ///
    /// ```
    /// # fn layer(layer: idem_tonic::layer::IdempotencyLayer<sqlx::Sqlite>)
    /// #     -> idem_tonic::layer::IdempotencyLayer<sqlx::Sqlite> {
    /// use idem_runtime::policy::OnLapse;
    /// use idem_tonic::layer::{Keep, keep};
    /// use tonic::Code;
    ///
    /// layer.keep(|code| match code {
    ///     // Every retry is told that the account exists.
    ///     Code::AlreadyExists => Keep::Record,
    ///     // Passed on from the other service, which may have done it.
    ///     Code::ResourceExhausted | Code::OutOfRange => Keep::Unknown,
    ///     _ => keep(code, OnLapse::Unknown),
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn keep(self, keep: fn(Code) -> Keep) -> Self {
        Self(self.0.with_options(|options| options.keep = Some(keep)))
    }

    /// Changes the refusals of the layer: their code, or the domain of their `ErrorInfo`.
    #[must_use]
    pub fn refusals(self, change: fn(Refusal) -> Refusal) -> Self {
        Self(
            self.0
                .with_options(|options| options.refusals = Some(change)),
        )
    }

    /// Decides before a replay whether this call may see the recorded answer. If it returns `false`, the call is
    /// refused with `PERMISSION_DENIED`.
    #[must_use]
    pub fn authorize_replay(
        self,
        may_replay: impl Fn(&Parts) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self(self.0.authorize_replay(may_replay))
    }

    /// Sets the limit of a request, in bytes with the prefixes of its messages; longer ones are refused with
    /// `RESOURCE_EXHAUSTED`.
    #[must_use]
    pub fn request_limit(self, bytes: usize) -> Self {
        Self(self.0.request_limit(bytes))
    }

    /// Sets the limit of a recorded answer, in bytes with the prefixes of its messages. It takes the place of the operation's
    /// `result_limit`, which does not apply.
    #[must_use]
    pub fn response_limit(self, bytes: usize) -> Self {
        Self(self.0.response_limit(bytes))
    }

    /// Sets the time in which an answer must end after its head. The lease is extended meanwhile.
    #[must_use]
    pub fn response_timeout(self, time: Duration) -> Self {
        Self(self.0.response_timeout(time))
    }

    /// Lets at most `runs` calls of this layer run at once; there is no limit by default.
    ///
    /// A run counts until it has ended, even if its client has gone. A call over the limit is refused with `UNAVAILABLE` before it
    /// claims its key.
    #[must_use]
    pub fn max_concurrent(self, runs: usize) -> Self {
        Self(self.0.max_concurrent(runs))
    }
}

/// Returns whether it is `/package.Service/Method`.
fn is_path(path: &str) -> bool {
    let service_and_method = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    service_and_method.is_some_and(|(service, method)| {
        !service.is_empty() && !method.is_empty() && !method.contains('/')
    })
}

impl<DB: LeaseBackend, S> Layer<S> for IdempotencyLayer<DB> {
    type Service = IdempotencyService<DB, S>;

    fn layer(&self, inner: S) -> IdempotencyService<DB, S> {
        self.0.layer(inner)
    }
}

// Derived implementations would require `Clone` and `Debug` of the database.

impl<DB: LeaseBackend> Clone for IdempotencyLayer<DB> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<DB: LeaseBackend> fmt::Debug for IdempotencyLayer<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<DB: LeaseBackend> fmt::Debug for Unscoped<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use idem_runtime::Operation;
    use idem_runtime::policy::OnLapse;
    use sqlx::SqlitePool;

    use super::*;

    fn layer() -> IdempotencyLayer<sqlx::Sqlite> {
        let pool = SqlitePool::connect_lazy("sqlite::memory:").expect("a URL");
        let operation =
            Operation::new("shop", "grpc").lease(Duration::from_mins(1), OnLapse::Retry);
        IdempotencyLayer::new(pool, operation).global()
    }

    #[test]
    fn a_path_names_one_method_of_one_service() {
        assert!(is_path("/shop.v1.Shop/Place"));
        for path in [
            "",
            "/",
            "shop.v1.Shop/Place",
            "/Place",
            "/shop.v1.Shop/",
            "//Place",
            "/a/b/c",
        ] {
            assert!(!is_path(path), "{path}");
        }
    }

    #[tokio::test]
    #[should_panic(
        expected = "`Shop/Place` is no path of a method: write `/package.Service/Method`"
    )]
    async fn a_path_that_no_call_has_is_a_fault_of_the_program() {
        let _ = layer().methods(["/shop.v1.Shop/Place", "Shop/Place"]);
    }

    #[tokio::test]
    #[should_panic(expected = "`grpc-timeout` differs from one attempt of a call to the next")]
    async fn what_no_retry_repeats_cannot_be_compared() {
        let _ = layer().compare_metadata(["x-region", "grpc-timeout"]);
    }
}
