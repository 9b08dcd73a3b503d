//! Who may see the pages, who may change something, and who may see payloads.

mod principal;
mod refused;

use std::future::Future;
use std::pin::Pin;

use http::request::Parts;

pub use self::principal::Principal;
pub use self::refused::Refused;

/// Decides who asks, and what he may. It is asked for every page and every change; nothing is read before it has answered.
///
/// A function of the request's head is an authoriser too:
///
/// ```
/// use http::request::Parts;
/// use idem_console::{Principal, Refused};
///
/// // What the service's own session layer has found out.
/// #[derive(Clone)]
/// struct User { name: String, is_operator: bool }
///
/// fn authorise(request: &Parts) -> Result<Principal, Refused> {
///     let user = request.extensions.get::<User>().ok_or(Refused::unauthenticated())?;
///     let principal = Principal::new(&user.name).map_err(|_| Refused::forbidden())?;
///     Ok(if user.is_operator { principal.may_change() } else { principal })
/// }
/// ```
pub trait Authoriser: Send + Sync + 'static {
    /// Returns who asks, or why nothing is shown.
    ///
    /// # Errors
    /// [`Refused`] if nobody is known to ask (401), if he may not see the pages (403), if that cannot be found out now
    /// (503), or to send the browser to a page where one signs in (303).
    fn authorise(&self, request: &Parts)
    -> impl Future<Output = Result<Principal, Refused>> + Send;
}

impl<F> Authoriser for F
where
    F: Fn(&Parts) -> Result<Principal, Refused> + Send + Sync + 'static,
{
    async fn authorise(&self, request: &Parts) -> Result<Principal, Refused> {
        self(request)
    }
}

type Authorising<'a> = Pin<Box<dyn Future<Output = Result<Principal, Refused>> + Send + 'a>>;

/// An authoriser of any type.
pub(crate) trait AnyAuthoriser: Send + Sync {
    fn authorise<'a>(&'a self, request: &'a Parts) -> Authorising<'a>;
}

impl<A: Authoriser> AnyAuthoriser for A {
    fn authorise<'a>(&'a self, request: &'a Parts) -> Authorising<'a> {
        Box::pin(Authoriser::authorise(self, request))
    }
}
