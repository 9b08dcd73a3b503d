//! How a framework serves the shop.

use std::fmt;
use std::net::TcpListener;

use http::request::Parts;
use idem_runtime::store::RawStore;
use idem_runtime::{Namespace, Scope};
use idem_tower::{HttpPolicy, Problem, StatusAccess};

use crate::desk::Desk;

/// A framework with an edge.
///
/// It serves `POST` of `/orders`, `/items`, `/notes`, `/declined` and `/declined-no-longer`, and `GET` of `/operations` (the status
/// resource) and `/results` (the same with results). The header `x-tenant` stands for authentication, and is the scope.
pub trait Framework {
    /// Serves the shop at a port.
    fn serve(listener: TcpListener, desk: Desk, rules: Rules) -> Server;
}

/// The rules of the edge.
#[derive(Debug, Default)]
pub struct Rules {
    /// The policies around the routes, the inner one first.
    pub policies: Vec<HttpPolicy>,
}

/// A server, which is stopped on drop.
pub struct Server(Option<Box<dyn FnOnce() + Send>>);

impl Server {
    /// A server that is stopped like this.
    pub fn stopped_by(stop: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(stop)))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.0.take() {
            stop();
        }
    }
}

/// The records of the shop.
pub(crate) fn orders() -> RawStore {
    RawStore::new(Namespace::from_static("orders"))
}

/// Whose request it is: stands for authentication.
pub(crate) fn tenant(header: Option<&[u8]>) -> Option<Scope> {
    let tenant = std::str::from_utf8(header?).expect("text");
    Some(Scope::new(tenant).expect("a scope"))
}

/// What a tenant may see of its own keys; nobody else may see anything.
pub(crate) fn access(tenant: Option<Scope>) -> Result<StatusAccess, Box<Problem>> {
    let access = tenant.map(StatusAccess::to);
    access.ok_or_else(|| {
        Problem::new(
            "no-tenant",
            "Nobody is signed in",
            403_u16,
            "name the tenant in x-tenant",
        )
        .into()
    })
}

/// The same of a request that has been authenticated.
pub(crate) fn authorise(request: &Parts) -> Result<StatusAccess, Box<Problem>> {
    access(request.extensions.get::<Scope>().cloned())
}
