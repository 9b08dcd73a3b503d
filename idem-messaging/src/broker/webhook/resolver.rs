//! From the name of a host to the addresses that are dialled.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use super::address::{AddressPolicy, RefusedAddress};

/// Finds the addresses of a host. What it returns is checked, and no other address is dialled.
pub trait Resolver: Send + Sync + 'static {
    /// Returns the addresses of `host`, in the order in which they are to be tried.
    ///
    /// # Errors
    /// The name has no address, or nobody can say so now.
    fn resolve(&self, host: &str) -> impl Future<Output = io::Result<Vec<IpAddr>>> + Send;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = lookup_host((host, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// Gives the HTTP client the addresses that may be dialled and no others. The client connects to what it gets here, and
/// resolves no name a second time, so that a name cannot change its address in between.
pub(super) struct CheckedResolver<R> {
    resolver: Arc<R>,
    policy: Arc<AddressPolicy>,
}

impl<R> CheckedResolver<R> {
    pub(super) fn new(resolver: R, policy: Arc<AddressPolicy>) -> Self {
        Self {
            resolver: Arc::new(resolver),
            policy,
        }
    }
}

impl<R: Resolver> Resolve for CheckedResolver<R> {
    fn resolve(&self, name: Name) -> Resolving {
        let (resolver, policy) = (Arc::clone(&self.resolver), Arc::clone(&self.policy));
        Box::pin(async move {
            let host = name.as_str();
            let found = resolver.resolve(host).await?;
            let (addresses, refused) = permitted(&policy, host, &found);
            match refused {
                Some(refused) if addresses.is_empty() => Err(refused.into()),
                _ => Ok(Box::new(addresses.into_iter()) as Addrs),
            }
        })
    }
}

/// Returns the addresses that may be dialled, and the first one that may not.
fn permitted(
    policy: &AddressPolicy,
    host: &str,
    found: &[IpAddr],
) -> (Vec<SocketAddr>, Option<RefusedAddress>) {
    let (mut addresses, mut first) = (Vec::new(), None);
    for address in found {
        match policy.check(host, *address) {
            // The client puts the URL's port in the place of zero.
            Ok(()) => addresses.push(SocketAddr::new(address.to_canonical(), 0)),
            Err(refused) => first = first.or(Some(refused)),
        }
    }
    (addresses, first)
}

/// Finds the refusal among the sources of an error of the client.
pub(super) fn refusal<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e RefusedAddress> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(refused) = error.downcast_ref() {
            return Some(refused);
        }
        next = error.source();
    }
    None
}
