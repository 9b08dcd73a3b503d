//! The HTTP client, and what it must not do.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, redirect, retry};
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls_platform_verifier::Verifier;

use super::address::AddressPolicy;
use super::error::WebhookError;
use super::resolver::{CheckedResolver, Resolver};

const USER_AGENT: &str = concat!("idem-messaging/", env!("CARGO_PKG_VERSION"));

/// The longest time to a connection, within the time limit of a request. An address that never answers is then known to
/// be one that cannot be reached.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How many idle connections are kept to one host.
const IDLE_CONNECTIONS: usize = 8;

/// Builds the client. Every feature of reqwest that another crate of the program may have switched on, and that would undo
/// a promise, is switched off here.
pub(super) fn build<R: Resolver>(
    resolver: R,
    policy: Arc<AddressPolicy>,
    root_certificates: &[Vec<u8>],
) -> Result<Client, WebhookError> {
    let builder = Client::builder()
        .dns_resolver(CheckedResolver::new(resolver, policy))
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .http1_only()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .user_agent(USER_AGENT)
        .tls_backend_preconfigured(tls(root_certificates)?);
    builder.build().map_err(|error| WebhookError::Client {
        reason: error.to_string(),
    })
}

/// TLS by the process's provider of cryptography, or by aws-lc-rs if it has none; certificates are checked as the platform does.
fn tls(root_certificates: &[Vec<u8>]) -> Result<ClientConfig, WebhookError> {
    let mut roots = Vec::new();
    for pem in root_certificates {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match read {
            Ok(read) if !read.is_empty() => roots.extend(read),
            _ => return Err(WebhookError::RootCertificate),
        }
    }
    let provider = CryptoProvider::get_default()
        .cloned()
        .unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()));
    let failed = |error: rustls::Error| WebhookError::Client {
        reason: error.to_string(),
    };
    let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&provider)).map_err(failed)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}
