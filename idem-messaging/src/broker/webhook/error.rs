//! Why a publisher was not made.

/// Why a publisher was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// A network is not an address, or an address and a prefix without more bits.
    #[error(
        "`{network}` is no network; give an address, or an address and the length of its prefix, such as `10.1.0.0/16`"
    )]
    Network {
        /// The text.
        network: String,
    },
    /// A root certificate cannot be read.
    #[error("a root certificate is not in PEM form (`-----BEGIN CERTIFICATE-----`)")]
    RootCertificate,
    /// The HTTP client cannot be made, for example because the machine has no root certificates.
    #[error("the HTTP client cannot be made: {reason}")]
    Client {
        /// Why.
        reason: String,
    },
}
