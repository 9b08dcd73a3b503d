//! The path of a request behind routers that cut some of it off.

use http::Uri;
use http::request::Parts;

/// Returns the whole path of a request, for routers that show their services a part of it.
///
/// A router that nests others may cut the prefix off, and the prefix may name another resource: the accounts of
/// `/accounts/1/charges` and `/accounts/2/charges` would be one. A framework's crate implements this.
pub trait WholeUri: 'static {
    /// Returns the URI as the client sent it.
    fn whole_uri(parts: &Parts) -> &Uri;
}

/// The URI of a request is whole: the service is behind no router that cuts a prefix off.
#[derive(Debug, Clone, Copy)]
pub struct AsReceived;

impl WholeUri for AsReceived {
    fn whole_uri(parts: &Parts) -> &Uri {
        &parts.uri
    }
}
